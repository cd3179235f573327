//! A table of all runs.

use super::super::sample::Subject;
use super::Measured;
use std::fmt::Write;

impl Measured {
    /// A line of names, and a run a line. Of jblock the dimension is the number of blocks, and the workers are none.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut table = String::from(
            "program,machines,packets,turn,size,workers,seconds,operations,processor_ns,waits,user_ns,system_ns\n",
        );
        for sample in &self.samples {
            let (program, size, workers) = match sample.subject {
                Subject::Jmatrix { dimension, workers } => ("jmatrix", dimension, workers),
                Subject::Jblock { blocks, .. } => ("jblock", blocks, 0),
            };
            let usage = &sample.usage;
            let _ = writeln!(
                table,
                "{program},{},{},{},{size},{workers},{:.9},{},{},{},{},{}",
                sample.machines,
                sample.packets.count(),
                sample.turn,
                sample.seconds,
                sample.operations,
                usage.processor_ns,
                usage.waits,
                usage.user_ns,
                usage.system_ns
            );
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;

    #[test]
    fn each_run_is_a_line_with_a_value_for_each_name() {
        let (measured, table) = (measured(), measured().csv());
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), measured.samples.len() + 1);
        assert!(lines.iter().all(|line| line.split(',').count() == 12), "{table}");
        let objects = measured.objects();
        assert_eq!(objects.len(), measured.samples.len() + 6 + 1);
        assert_eq!(objects[objects.len() - 2]["published_percent"], 14.0);
    }
}
