//! What a send takes of its sender's processor: of the thread that begins isochrons, and of the one that executes them.

use super::member::hear;
use super::net::Net;
use super::task::{Noted, Task, Way};
use quintet::{Code, Error, Isonet, IsonetBuilder, Variable};
use quintet_reproduce::isotach_1_0;
use quintet_reproduce::isotach_1_0::live::Sent;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Members of the isonet.
pub(super) const MEMBERS: u16 = 5;
/// Who sends. Another one keeps the pulse, as there a network interface did.
const SENDER: u16 = 1;
/// Who gets what it sends, in this order: who keeps the pulse comes last.
const OTHERS: [u16; 4] = [2, 3, 4, 0];
/// Where variables have copies.
const COPY_SETS: [&[u16]; 6] = [&[2], &[2, 3], &[0, 2, 3, 4], &[1], &[1, 2], &[1, 2, 3, 4]];
/// Bytes of their values: data of the packets of which the study prints something.
const VALUE_BYTES: [usize; 2] = [44, 1004];
/// The first of them.
const FIRST: u32 = 1 << 17;
/// The plain handler that reads the clock of its thread.
const CLOCK: u32 = 10;

/// How much of a processor the thread has had that executes isochrons.
pub(super) struct Clock(Receiver<Duration>);

impl Clock {
    /// Has a member tell it.
    pub(super) fn of_member(builder: IsonetBuilder) -> (IsonetBuilder, Clock) {
        let (tell, told) = channel();
        // Who asked waits for it.
        let builder = builder.plain_handler(CLOCK, move |_| tell.send(used()).unwrap_or_default());
        (builder, Clock(told))
    }

    /// What that thread and this one have had together.
    ///
    /// # Errors
    /// This member has stopped.
    pub(super) fn read(&self, isonet: &Isonet) -> Result<Duration, Error> {
        isonet.send_plain(isonet.member(), CLOCK, Vec::new())?;
        Ok(hear(&self.0)? + used())
    }
}

/// What this thread has had of a processor.
fn used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The variables, all together, and where they have copies.
fn variables() -> impl Iterator<Item = (Variable, usize, &'static [u16])> {
    let all = COPY_SETS.into_iter().flat_map(|copies| VALUE_BYTES.map(|bytes| (bytes, copies)));
    (FIRST..).zip(all).map(|(number, (bytes, copies))| (Variable(number), bytes, copies))
}

/// Shares them, where there are members for all copies.
pub(super) fn with_copies(builder: IsonetBuilder, members: u16) -> IsonetBuilder {
    if members < MEMBERS {
        return builder;
    }
    variables()
        .fold(builder, |builder, (variable, bytes, copies)| builder.variable_at(variable, bytes, copies))
}

/// The variable of so many bytes with copies at these.
///
/// # Errors
/// [`Code::BadValue`]: there is none.
pub(super) fn variable(bytes: usize, copies: &[u16]) -> Result<Variable, Error> {
    let mut all = variables();
    let found = all.find(|(_, of_bytes, at)| (*of_bytes, *at) == (bytes, copies));
    found.map(|(variable, ..)| variable).ok_or_else(|| {
        Error::new(Code::BadValue, format!("no variable has {bytes} bytes and copies at {copies:?}"))
    })
}

/// So many of such a send, and that it is noted what they take of the processor.
fn task(sent: Sent, way: isotach_1_0::Way, bytes: usize, count: usize) -> Task {
    let own = sent.has_own_part.then_some(SENDER);
    let mut receivers: Vec<u16> = OTHERS.into_iter().take(sent.others.into()).chain(own).collect();
    receivers.sort_unstable();
    let way = match way {
        isotach_1_0::Way::Raw | isotach_1_0::Way::Plain => Way::Plain,
        _ if sent.is_value => Way::Values,
        _ => Way::Isochrons(1),
    };
    Task { receivers, noted: Noted::Processor, ..super::stream::task(way, bytes, count, 0) }
}

/// What one of many sends takes of its sender's processor.
///
/// # Errors
/// A member is gone.
pub(super) fn cost(
    net: &Net,
    (sent, way): (Sent, isotach_1_0::Way),
    bytes: usize,
    count: usize,
) -> Result<Duration, Error> {
    let taken = net.all_do([SENDER], &task(sent, way, bytes, count))?;
    Ok(taken.iter().sum::<Duration>() / u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_reproduce::isotach_1_0::live::{Experiment, runs};

    #[test]
    fn whatever_is_sent_has_receivers_and_a_variable() {
        let mut costs = 0;
        for run in runs(false) {
            let Experiment::Cost(sent) = run.experiment else { continue };
            costs += 1;
            let task = task(sent, run.way, run.data(), 1);
            assert_eq!(
                task.receivers.len(),
                usize::from(sent.others) + usize::from(sent.has_own_part),
                "{sent:?}"
            );
            assert_eq!(task.receivers.contains(&SENDER), sent.has_own_part);
            assert_eq!(
                task.way == Way::Values,
                variable(task.bytes, &task.receivers).is_ok() && sent.is_value,
                "{sent:?}"
            );
            assert!(!sent.is_value || task.way == Way::Values);
        }
        assert_eq!(costs, 18);
        assert!(variable(45, &[2]).is_err());
    }
}
