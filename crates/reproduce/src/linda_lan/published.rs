//! What is printed of the experiment.

use super::explanation::machines_in_words;

/// A figure, and by what share one packet was faster in it, over all its times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    /// The figure's number.
    pub figure: &'static str,
    /// `jmatrix` or `jblock`.
    pub program: &'static str,
    /// On how many workstations.
    pub machines: u8,
    /// What the figure has across.
    pub across: Across,
    /// By how much less time one packet took, in percent of that with two.
    pub decrease_percent: f64,
}

impl Published {
    /// What it shows, in words.
    pub(super) fn title(&self) -> String {
        format!("Figure {}: {}, {}", self.figure, self.program, machines_in_words(self.machines))
    }

    /// What there is to say of its machines.
    pub(super) fn note(&self) -> Option<&'static str> {
        // Section 5.2: only the eval manager is on the other workstation, and has nothing to do.
        let is_alone = (self.program, self.machines) == ("jblock", 2);
        is_alone.then_some(
            "Nothing is on the second machine, as in the paper: jblock starts no processes, and the manager and the program are on the first.",
        )
    }
}

/// What is varied in a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Across {
    /// The dimension of the matrices, with five workers.
    Dimension,
    /// The number of workers, at dimension 10.
    Workers,
    /// The length of the block.
    Bytes,
}

impl Across {
    /// As an axis is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Across::Dimension => "dimension (5 workers)",
            Across::Workers => "workers (dimension 10)",
            Across::Bytes => "bytes of a block",
        }
    }
}

const fn row(
    figure: &'static str,
    (program, machines): (&'static str, u8),
    across: Across,
    decrease_percent: f64,
) -> Published {
    Published { figure, program, machines, across, decrease_percent }
}

/// All six, as `published/linda-lan.csv` has them.
pub const PUBLISHED: [Published; 6] = [
    row("5.1", ("jmatrix", 1), Across::Dimension, 25.0),
    row("5.2", ("jmatrix", 2), Across::Dimension, 28.0),
    row("5.3", ("jmatrix", 1), Across::Workers, 27.0),
    row("5.4", ("jmatrix", 2), Across::Workers, 30.0),
    row("5.5", ("jblock", 1), Across::Bytes, 11.0),
    row("5.6", ("jblock", 2), Across::Bytes, 14.0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::rows;

    #[test]
    fn the_constants_are_those_of_the_table() {
        let table = rows(include_str!("../../published/linda-lan.csv"));
        assert_eq!(table.len(), PUBLISHED.len());
        for (row, published) in table.iter().zip(&PUBLISHED) {
            let varied = match published.across {
                Across::Dimension => "dimension",
                Across::Workers => "workers",
                Across::Bytes => "block",
            };
            assert!(row.text("varied").starts_with(varied), "{published:?}");
            assert_eq!(row.text("program"), published.program);
            assert_eq!(row.whole("workstations"), u32::from(published.machines));
            assert_eq!(row.number("execution_time_decrease_percent"), published.decrease_percent);
        }
    }
}
