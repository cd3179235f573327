use super::*;
use core::time::Duration;
use std::sync::mpsc::channel;

/// Says this; an empty one is told whenever it comes.
#[derive(Clone)]
struct Said(String);

impl Entry for Said {
    type Key = String;
    type Line = String;

    fn key(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.clone())
    }

    fn times(&self) -> u64 {
        1
    }

    fn line(&self, times: u64) -> String {
        format!("{} {times}", self.0)
    }

    fn line_of_others(count: u64) -> String {
        format!("others {count}")
    }
}

fn said(text: &str) -> Said {
    Said(text.to_owned())
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn what_comes_again_is_told_with_its_count_ever_more_rarely_and_at_once_after_it_had_stopped() {
    let (mut repeats, begin) = (Repeats::default(), Instant::now());
    let (mut lines, mut told_at) = (Vec::new(), Vec::new());
    let day = 24 * 60 * 60;
    for second in 0..day {
        let now = begin + Duration::from_secs(second);
        let new: Vec<String> =
            repeats.lines_due(now).into_iter().chain(repeats.take(said("a"), now)).collect();
        told_at.extend(new.iter().map(|_| second / 60));
        lines.extend(new);
    }
    assert_eq!(told_at[..7], [0, 1, 3, 7, 15, 31, 63], "minutes");
    assert!(lines.len() < 32, "{}", lines.len());
    let later = begin + Duration::from_secs(day);
    let left = repeats.lines_left();
    let count = |line: &String| line[2..].parse::<u64>().expect("a number");
    assert_eq!(lines.iter().chain(&left).map(count).sum::<u64>(), day, "none is lost");
    assert_eq!(repeats.take(said("a"), later).as_deref(), Some("a 1"));
    assert!(repeats.lines_due(later + MINUTE).is_empty() && repeats.due().is_none(), "it has stopped");
    assert_eq!(repeats.take(said("a"), later + MINUTE).as_deref(), Some("a 1"));
}

#[test]
fn very_many_different_ones_take_no_more_room_and_are_counted() {
    let (mut repeats, now) = (Repeats::default(), Instant::now());
    let lines = (0..10_000).filter_map(|number| repeats.take(Said(number.to_string()), now)).count();
    assert_eq!(lines, 256);
    // The others are told of a minute after the first of them.
    let told = repeats.lines_due(Instant::now() + MINUTE);
    assert_eq!(told, ["others 9744"]);
}

#[test]
fn what_has_no_key_is_told_whenever_it_comes() {
    let (mut repeats, now) = (Repeats::default(), Instant::now());
    assert_eq!([(); 2].map(|()| repeats.take(said(""), now).expect("it is told")), [" 1", " 1"]);
}

#[test]
fn all_is_written_at_the_end_and_a_disk_that_takes_nothing_is_told_of_once() {
    let (wrote, written) = channel();
    let mut fails = 2;
    let write: WriteLine<String> = Box::new(move |line| {
        if fails > 0 {
            fails -= 1;
            return Err(io::ErrorKind::StorageFull.into());
        }
        wrote.send(line).map_err(io::Error::other)
    });
    let (tell, told) = channel();
    let trouble = Box::new(move |error: &io::Error| tell.send(error.kind()).expect("the test waits"));
    let log = Log::start("test-log", write, trouble).expect("a thread");
    ["a", "b", "c", "a", "a"].into_iter().for_each(|text| log.tell(said(text)));
    log.finish();
    log.tell(said("late"));
    assert_eq!(written.iter().collect::<Vec<_>>(), ["c 1", "a 2"]);
    assert_eq!(told.iter().collect::<Vec<_>>(), [io::ErrorKind::StorageFull]);
}
