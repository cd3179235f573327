//! A promise or a rule that was broken, and the smallest schedule that breaks it.

use crate::check::Rule;
use crate::report::Size;
use quintet_simulate::Sequence;
use std::fmt;

/// What was broken: a [`Rule`] of the tuple space, or one of a [`System`](crate::system::System), whose schedules have sizes of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<R = Rule, S = Size> {
    /// The seed of the schedule; none if its choices were given.
    pub seed: Option<u64>,
    /// What did not hold.
    pub rule: R,
    /// What happened instead.
    pub text: String,
    /// Who takes part, with what the schedule is like, a line each.
    pub plan: Vec<String>,
    /// The last events of the history, one a line: when, who, what.
    pub history: Vec<String>,
    /// How large the schedule is.
    pub size: S,
    /// What makes the schedule again, also where a seed makes another by now.
    pub choices: Sequence,
}

/// A failure made smaller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk<R = Rule, S = Size> {
    /// The smallest schedule found that breaks the same rule, with its whole history.
    pub failure: Failure<R, S>,
    /// Schedules that were run to find it.
    pub attempts: u32,
}

/// Choices, without zeros at a stream's end.
pub(crate) fn count_choices(choices: &Sequence) -> usize {
    choices.values().flatten().map(Vec::len).sum()
}

/// The digest of schedules, with that of one more.
pub(crate) fn add_digest(digest: u64, more: u64) -> u64 {
    (digest.rotate_left(5) ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What comes below the counts of a report.
pub(crate) fn write_ending<R: fmt::Display, S>(
    f: &mut fmt::Formatter<'_>,
    failure: Option<&Failure<R, S>>,
    digest: u64,
) -> fmt::Result {
    match failure {
        None => writeln!(f, "no rule was broken; digest {digest:016x}"),
        Some(failure) => write!(f, "{failure}"),
    }
}

impl<R: fmt::Display, S> fmt::Display for Failure<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            Some(seed) => write!(f, "seed {seed}")?,
            None => f.write_str("this schedule")?,
        }
        writeln!(f, " breaks the rule \"{}\": {}", self.rule, self.text)?;
        self.plan.iter().chain(&self.history).try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl<R: fmt::Display, S: fmt::Display> fmt::Display for Shrunk<R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the smallest of {} schedules that were tried: {}", self.attempts, self.failure.size)?;
        write!(f, "{}", self.failure)
    }
}
