//! Which findings rest on the factor that is not understood: each beside the same with a factor of 1.0.

use super::{Factor, Finding};
use core::fmt;

/// A finding with the other factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sensitivity {
    /// Whether both say the same: the same number, the same winner.
    pub is_same: bool,
    /// What the other says.
    pub verdict: String,
    /// The numbers that it rests on.
    pub numbers: String,
}

/// Says of each fitted finding what it is with a factor of 1.0, where that was simulated.
pub(super) fn compare(findings: &mut [Finding]) {
    let others: Vec<Finding> =
        findings.iter().filter(|finding| finding.factor == Factor::One).cloned().collect();
    for finding in findings.iter_mut().filter(|finding| finding.factor == Factor::Fitted) {
        let other =
            others.iter().find(|other| (other.question, &other.case) == (finding.question, &finding.case));
        finding.sensitivity = other.map(|other| Sensitivity {
            is_same: other.verdict == finding.verdict,
            verdict: other.verdict.clone(),
            numbers: other.numbers.clone(),
        });
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sensitivity { is_same, verdict, numbers } = self;
        match is_same {
            true => write!(f, "the same with a LAN factor of 1.0 ({numbers})"),
            false => write!(f, "but with a LAN factor of 1.0: {verdict} ({numbers})"),
        }
    }
}
