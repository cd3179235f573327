//! What a member is asked to do, as it is told: text; and how long that took, as it answers.

use std::time::Duration;

/// How messages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Each isochron has so many of them.
    Isochrons(usize),
    Plain,
    /// To the first member, which sends it on to all.
    Sequencer,
    /// Isochrons that take forks and put them down.
    Meals,
    /// Isochrons that enter a transfer into all books.
    Transfers,
    /// Isochrons that give a value to the variable with copies at the receivers.
    Values,
}

/// What is noted of a task, beside that it is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Noted {
    Nothing,
    /// How long each took.
    Latencies,
    /// What all together took of the processor.
    Processor,
}

impl Noted {
    const ALL: [Noted; 3] = [Noted::Nothing, Noted::Latencies, Noted::Processor];

    const fn name(self) -> &'static str {
        match self {
            Noted::Nothing => "nothing",
            Noted::Latencies => "latencies",
            Noted::Processor => "processor",
        }
    }
}

/// What a member is asked to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) way: Way,
    /// Of each message.
    pub(super) bytes: usize,
    /// How many messages to each of the receivers.
    pub(super) count: usize,
    /// How many of them, or isochrons with them, are under way at the same time.
    pub(super) window: usize,
    pub(super) receivers: Vec<u16>,
    pub(super) noted: Noted,
}

impl Task {
    /// As text.
    pub(super) fn write(&self) -> String {
        let Task { way, bytes, count, window, receivers, noted } = self;
        let way = match way {
            Way::Isochrons(messages) => messages.to_string(),
            Way::Plain => "plain".to_owned(),
            Way::Sequencer => "sequencer".to_owned(),
            Way::Meals => "meals".to_owned(),
            Way::Transfers => "transfers".to_owned(),
            Way::Values => "values".to_owned(),
        };
        let receivers: Vec<String> = receivers.iter().map(u16::to_string).collect();
        format!("{way} {bytes} {count} {window} {} {}", receivers.join(","), noted.name())
    }

    /// What was written so, if it was.
    pub(super) fn read(text: &[u8]) -> Option<Task> {
        let mut words = str::from_utf8(text).ok()?.split(' ');
        let way = match words.next()? {
            "plain" => Way::Plain,
            "sequencer" => Way::Sequencer,
            "meals" => Way::Meals,
            "transfers" => Way::Transfers,
            "values" => Way::Values,
            messages => Way::Isochrons(messages.parse().ok()?),
        };
        let mut number = || words.next()?.parse().ok();
        let (bytes, count, window) = (number()?, number()?, number()?);
        let receivers = words.next()?.split(',').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let name = words.next()?;
        let noted = Noted::ALL.into_iter().find(|noted| noted.name() == name)?;
        Some(Task { way, bytes, count, window, receivers, noted })
    }
}

/// How long each took, or all together, in nanoseconds.
pub(super) fn write_latencies(latencies: &[Duration]) -> Vec<u8> {
    latencies.iter().flat_map(|latency| (latency.as_nanos() as u64).to_le_bytes()).collect()
}

/// What was written so.
pub(super) fn read_latencies(bytes: &[u8]) -> Vec<Duration> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|number| Duration::from_nanos(u64::from_le_bytes(*number))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_read_as_they_were_written() {
        let latencies = [Duration::from_nanos(1), Duration::from_millis(20)];
        assert_eq!(read_latencies(&write_latencies(&latencies)), latencies);
        assert!(read_latencies(b"").is_empty());
    }

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let ways = [Way::Isochrons(4), Way::Plain, Way::Sequencer, Way::Meals, Way::Transfers, Way::Values];
        for (way, noted) in ways.into_iter().zip(Noted::ALL.into_iter().cycle()) {
            let task = Task { way, bytes: 64, count: 1000, window: 16, receivers: vec![0, 2], noted };
            assert_eq!(Task::read(task.write().as_bytes()), Some(task));
        }
        assert_eq!(Task::read(b"plain 1 2"), None);
    }
}
