//! What a testbed's switch is asked over its socket, and what it answers: one JSON object a line.

use core::num::NonZeroU64;
use core::time::Duration;
use quintet_line::Impairment;
use serde_json::{Map, Value, json};

/// The longest line of a request.
pub(super) const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// The longest delay, jitter or lateness.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(3_600);
/// The lowest rate: a packet passes in a minute or two.
pub(super) const MIN_BYTES_PER_SECOND: u64 = 1_000;
const MILLION: u64 = 1_000_000;

/// From one machine to another, by their numbers.
pub(super) type LineNumber = (usize, usize);

/// What becomes different about a line. What is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// Whether it carries nothing. What was on its way is lost.
    pub cut: Option<bool>,
    /// Everything comes this much later. At most an hour, as all times here.
    pub delay: Option<Duration>,
    /// And by up to this much more, evenly distributed. It does not reorder.
    pub jitter: Option<Duration>,
    /// Packets in a million that never come.
    pub drop_per_million: Option<u32>,
    /// Packets in a million that come twice.
    pub duplicate_per_million: Option<u32>,
    /// Packets in a million that come `reorder_by` later than their place in the order.
    pub reorder_per_million: Option<u32>,
    /// How much later those come.
    pub reorder_by: Option<Duration>,
    /// Bytes a second, at least 1,000.
    pub bytes_per_second: Option<NonZeroU64>,
    /// Bytes that wait at most until the rate lets them through.
    pub queue_bytes: Option<NonZeroU64>,
}

impl Change {
    /// The impairment with this change.
    pub(super) fn applied_to(&self, before: &Impairment) -> Impairment {
        Impairment {
            delay: self.delay.unwrap_or(before.delay),
            jitter: self.jitter.unwrap_or(before.jitter),
            drop_per_million: self.drop_per_million.unwrap_or(before.drop_per_million),
            duplicate_per_million: self.duplicate_per_million.unwrap_or(before.duplicate_per_million),
            reorder_per_million: self.reorder_per_million.unwrap_or(before.reorder_per_million),
            reorder_by: self.reorder_by.unwrap_or(before.reorder_by),
            bytes_per_second: self.bytes_per_second.or(before.bytes_per_second),
            queue_bytes: self.queue_bytes.or(before.queue_bytes),
        }
    }

    /// What cannot be about it, and why.
    pub(super) fn fault(&self) -> Option<String> {
        let times = [("delay", self.delay), ("jitter", self.jitter), ("lateness", self.reorder_by)];
        let shares = [
            ("loss", self.drop_per_million),
            ("duplicates", self.duplicate_per_million),
            ("reordered share", self.reorder_per_million),
        ];
        let long = times.into_iter().find(|(_, time)| time.is_some_and(|time| time > MAX_DELAY));
        let large =
            shares.into_iter().find(|(_, share)| share.is_some_and(|share| u64::from(share) > MILLION));
        let slow = self.bytes_per_second.filter(|rate| rate.get() < MIN_BYTES_PER_SECOND);
        long.map(|(name, time)| {
            format!(
                "a {name} of {time:?} is too long: at most {MAX_DELAY:?}",
                time = time.unwrap_or_default()
            )
        })
        .or(large.map(|(name, _)| format!("the {name} is more than all packets")))
        .or(slow.map(|rate| format!("{rate} bytes a second are too few: at least {MIN_BYTES_PER_SECOND}")))
    }
}

/// What a switch is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Request {
    /// How all lines are.
    Show,
    /// Something becomes different about some lines.
    Change(Vec<LineNumber>, Change),
    /// Some lines become perfect; what is on its way comes at once.
    Heal(Vec<LineNumber>),
    /// A machine's device is made, in the namespace that it has now.
    Plug(usize),
    /// A machine's device is removed.
    Unplug(usize),
    /// The switch ends.
    Stop,
}

impl Request {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Request::Show => json!({"do": "show"}),
            Request::Change(lines, change) => {
                json!({"do": "change", "lines": lines, "to": change_to_json(change)})
            }
            Request::Heal(lines) => json!({"do": "heal", "lines": lines}),
            Request::Plug(machine) => json!({"do": "plug", "machine": machine}),
            Request::Unplug(machine) => json!({"do": "unplug", "machine": machine}),
            Request::Stop => json!({"do": "stop"}),
        }
    }

    /// # Errors
    /// What is wrong with it.
    pub(super) fn from_json(text: &[u8]) -> Result<Request, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let machine = || number(&value, "machine").and_then(|number| usize::try_from(number).ok());
        match value["do"].as_str() {
            Some("show") => Ok(Request::Show),
            Some("change") => {
                let change = change_from_json(&value["to"])?;
                change.fault().map_or(Ok(()), Err)?;
                Ok(Request::Change(lines_from_json(&value["lines"])?, change))
            }
            Some("heal") => Ok(Request::Heal(lines_from_json(&value["lines"])?)),
            Some("plug") => machine().map(Request::Plug).ok_or_else(|| "no machine is named".to_owned()),
            Some("unplug") => machine().map(Request::Unplug).ok_or_else(|| "no machine is named".to_owned()),
            Some("stop") => Ok(Request::Stop),
            _ => Err(format!("{} is nothing that a switch does", value["do"])),
        }
    }
}

fn lines_from_json(value: &Value) -> Result<Vec<LineNumber>, String> {
    let line = |line: &Value| {
        let [from, to] = line.as_array()?.as_slice() else { return None };
        let end = |end: &Value| usize::try_from(end.as_u64()?).ok();
        Some((end(from)?, end(to)?))
    };
    let lines = value.as_array().and_then(|lines| lines.iter().map(line).collect());
    lines.ok_or_else(|| "the lines are no list of pairs of machines".to_owned())
}

fn change_to_json(change: &Change) -> Value {
    let numbers = [
        ("delay_ns", change.delay.map(nanoseconds)),
        ("jitter_ns", change.jitter.map(nanoseconds)),
        ("drop_per_million", change.drop_per_million.map(u64::from)),
        ("duplicate_per_million", change.duplicate_per_million.map(u64::from)),
        ("reorder_per_million", change.reorder_per_million.map(u64::from)),
        ("reorder_by_ns", change.reorder_by.map(nanoseconds)),
        ("bytes_per_second", change.bytes_per_second.map(NonZeroU64::get)),
        ("queue_bytes", change.queue_bytes.map(NonZeroU64::get)),
    ];
    let mut object: Map<String, Value> =
        numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?.into()))).collect();
    if let Some(cut) = change.cut {
        object.insert("cut".to_owned(), cut.into());
    }
    object.into()
}

fn change_from_json(value: &Value) -> Result<Change, String> {
    if !value.is_object() {
        return Err("nothing is said to become different".to_owned());
    }
    let share =
        |name| number(value, name).map(u32::try_from).transpose().map_err(|_| format!("{name} is too large"));
    Ok(Change {
        cut: value["cut"].as_bool(),
        delay: number(value, "delay_ns").map(Duration::from_nanos),
        jitter: number(value, "jitter_ns").map(Duration::from_nanos),
        drop_per_million: share("drop_per_million")?,
        duplicate_per_million: share("duplicate_per_million")?,
        reorder_per_million: share("reorder_per_million")?,
        reorder_by: number(value, "reorder_by_ns").map(Duration::from_nanos),
        bytes_per_second: number(value, "bytes_per_second").and_then(NonZeroU64::new),
        queue_bytes: number(value, "queue_bytes").and_then(NonZeroU64::new),
    })
}

pub(super) fn number(value: &Value, name: &str) -> Option<u64> {
    value[name].as_u64()
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn changes() -> impl Strategy<Value = Change> {
        let time = || proptest::option::of((0..=3_600_000_000_000u64).prop_map(Duration::from_nanos));
        let share = || proptest::option::of(0..=1_000_000u32);
        let bytes =
            || proptest::option::of((1_000..u64::MAX).prop_map(|n| NonZeroU64::new(n).expect("not zero")));
        let cut = proptest::option::of(any::<bool>());
        (cut, (time(), time(), time()), (share(), share(), share()), (bytes(), bytes())).prop_map(
            |(cut, (delay, jitter, by), (drop, duplicate, reorder), (rate, queue))| Change {
                cut,
                delay,
                jitter,
                drop_per_million: drop,
                duplicate_per_million: duplicate,
                reorder_per_million: reorder,
                reorder_by: by,
                bytes_per_second: rate,
                queue_bytes: queue,
            },
        )
    }

    proptest! {
        #[test]
        fn a_request_is_read_as_it_was_written(change in changes(), lines: Vec<(u8, u8)>, machine: u16) {
            let lines: Vec<LineNumber> = lines.into_iter().map(|(a, b)| (a.into(), b.into())).collect();
            let machine = usize::from(machine);
            for request in [
                Request::Show,
                Request::Change(lines.clone(), change),
                Request::Heal(lines),
                Request::Plug(machine),
                Request::Unplug(machine),
                Request::Stop,
            ] {
                let text = request.to_json().to_string();
                prop_assert_eq!(Request::from_json(text.as_bytes()), Ok(request));
            }
        }

        #[test]
        fn nothing_that_comes_ends_the_switch(bytes: Vec<u8>) {
            let _ = Request::from_json(&bytes);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let said = |text: &str| Request::from_json(text.as_bytes()).expect_err("refused");
        assert!(said("{\"do\":\"dance\"}").contains("nothing that a switch does"));
        assert!(said("{\"do\":\"heal\",\"lines\":[[1]]}").contains("pairs of machines"));
        assert!(said("{\"do\":\"plug\"}").contains("no machine"));
        let change = |to: &str| said(&format!("{{\"do\":\"change\",\"lines\":[],\"to\":{to}}}"));
        assert!(change("3").contains("nothing is said"));
        assert!(change("{\"delay_ns\":3600000000001}").contains("too long"));
        assert!(change("{\"drop_per_million\":1000001}").contains("more than all"));
        assert!(change("{\"drop_per_million\":99999999999}").contains("too large"));
        assert!(change("{\"bytes_per_second\":999}").contains("too few"));
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let before = Impairment { delay: MAX_DELAY, drop_per_million: 3, ..Impairment::default() };
        let change = Change { drop_per_million: Some(0), ..Change::default() };
        assert_eq!(change.applied_to(&before), Impairment { delay: MAX_DELAY, ..Impairment::default() });
    }
}
