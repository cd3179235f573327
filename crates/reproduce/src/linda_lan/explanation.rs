//! Why ours differ from what is printed, in words that follow from what was measured.

use super::measured::{Fastest, Measured, PerOperation};
use super::sample::Packets;

/// Operations of jmatrix for each task: a worker's `inp`, two `rd` and an `out`, and the `in` of its result.
const OPERATIONS_A_TASK: f64 = 5.0;
/// The paper's time of a task of jmatrix with one packet: 12 s by 400 tasks, and 27 s by 900.
const PAPER_TASK_MS: f64 = 30.0;

impl Measured {
    /// Sentences, each of which rests on numbers of this run or of the paper.
    #[must_use]
    pub fn explanation(&self) -> Vec<String> {
        let mut sentences = vec![format!(
            "jmatrix asks the space {OPERATIONS_A_TASK} times a task: the worker's inp, two rd and out, and the in of the result. The text counts one. Here each is a \
             request and an answer, so that a second packet is two system calls more that send; and up to two more waits, if who receives has read the header and \
             sleeps again before the data come."
        )];
        for (program, machines) in [("jmatrix", 1), ("jmatrix", 2), ("jblock", 1), ("jblock", 2)] {
            let of = |packets| self.per_operation(program, machines, packets);
            if let (Some(one), Some(two)) = (of(Packets::One), of(Packets::Two)) {
                sentences.push(cost(program, machines, &one, &two));
            }
        }
        if let (Some(one), Some(two)) =
            (self.per_operation("jmatrix", 1, Packets::One), self.per_operation("jmatrix", 1, Packets::Two))
        {
            sentences.push(beside_the_paper(&one, &two));
        }
        for machines in [1, 2] {
            sentences.extend(self.fastest_workers(machines).map(|found| fastest(machines, &found)));
        }
        sentences
    }
}

fn cost(program: &str, machines: u8, one: &PerOperation, two: &PerOperation) -> String {
    format!(
        "{program} on {}: an operation takes {:.1} us with one packet and {:.1} with two; {:.1} and {:.1} us of processor, all processes together, of which the system has \
         {:.0}% and {:.0}%; and {:.2} and {:.2} waits. The second packet costs {:+.1} us of processor and {:+.2} waits.",
        machines_in_words(machines),
        one.micros,
        two.micros,
        one.processor_micros,
        two.processor_micros,
        100.0 * one.system_share,
        100.0 * two.system_share,
        one.waits,
        two.waits,
        two.processor_micros - one.processor_micros,
        two.waits - one.waits,
    )
}

/// A DEC 5000 spent so long on an operation that one more packet was a quarter of it.
fn beside_the_paper(one: &PerOperation, two: &PerOperation) -> String {
    let paper_us = PAPER_TASK_MS * 1e3 / OPERATIONS_A_TASK;
    let share = 100.0 * (1.0 - one.processor_micros / two.processor_micros);
    let bound = if share < 0.0 {
        "so that here it is within the noise"
    } else {
        "which is what one packet can save at most where processors are the limit"
    };
    format!(
        "In the paper a task took {PAPER_TASK_MS:.0} ms with one packet whatever the dimension, {paper_us:.0} us an operation, {:.0} times ours. One packet saves {share:.0}% of the \
         processors' time here, {bound}; a quarter of the paper's time went with the second packet. Its messages went through an L-Kernel, twice as many of them; ours go to the \
         manager directly.",
        paper_us / one.micros
    )
}

fn fastest(machines: u8, found: &Fastest) -> String {
    let place = machines_in_words(machines);
    let paper = match machines {
        1 => "about three in the paper",
        _ => "which the paper could not tell with five at most",
    };
    let Fastest { workers, as_good, most } = found;
    let others = match as_good.is_empty() {
        true => String::new(),
        false => {
            let others: Vec<String> = as_good.iter().map(u32::to_string).collect();
            format!(" By their quartiles {} are not slower.", others.join(", "))
        }
    };
    let beyond = if workers == most { " More were not tried, and may be faster yet." } else { "" };
    format!(
        "On {place} dimension 10 is fastest with {workers} workers of 1 to {most} ({paper}).{others}{beyond}"
    )
}

pub(in crate::linda_lan) fn machines_in_words(machines: u8) -> &'static str {
    if machines == 1 { "one machine" } else { "two machines" }
}

#[cfg(test)]
mod tests {
    use super::super::measured::tests::measured;
    use super::*;

    #[test]
    fn what_is_said_follows_from_the_runs() {
        let said = measured().explanation().join("\n");
        assert!(said.contains("10.0 and 20.0 us of processor"), "{said}");
        assert!(said.contains("+10.0 us of processor and +1.00 waits"), "{said}");
        assert!(said.contains("saves 50% of the processors' time"), "{said}");
        assert!(said.contains("On two machines dimension 10 is fastest with 3 workers of 1 to 8"), "{said}");
    }

    #[test]
    fn what_was_not_measured_is_not_spoken_of() {
        assert_eq!(Measured::default().explanation().len(), 1);
    }
}
