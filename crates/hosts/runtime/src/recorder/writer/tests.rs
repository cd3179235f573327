use super::*;
use quintet_testbed::StalledDisk;

const LONG: Duration = Duration::from_secs(60);

fn started(buffer_bytes: usize, patience: Duration) -> (StalledDisk, Writer) {
    let disk = StalledDisk::default();
    let writer = Writer::start(disk.clone(), Limits { buffer_bytes, patience }).expect("a thread");
    (disk, writer)
}

#[test]
fn who_records_waits_for_no_disk_that_stands_still() {
    let (disk, writer) = started(1 << 20, Duration::ZERO);
    let entries: Vec<[u8; 1000]> = (0..1000u32).map(|n| [n as u8; 1000]).collect();
    for entry in &entries {
        writer.put([&entry[..8], &entry[8..]]).expect("there is room");
    }
    assert!(disk.taken().is_empty());
    disk.go_on();
    writer.finish().expect("all is written");
    assert_eq!(disk.taken(), entries.concat());
    writer.finish().expect("it was finished");
}

#[test]
fn a_buffer_that_stays_full_is_an_error() {
    let (disk, writer) = started(1000, Duration::from_millis(1));
    writer.put([&[1; 500], &[2; 500]]).expect("it fits");
    let error = writer.put([b"", b"x"]).expect_err("it does not");
    let text = error.to_string();
    assert!(text.starts_with("the disk is too slow: 1000 of 1000 bytes"), "{text}");
    disk.go_on();
    writer.finish().expect("what fitted is written");
    assert_eq!(disk.taken().len(), 1000);
}

#[test]
fn room_that_comes_in_time_is_used_also_for_what_is_longer_than_the_buffer() {
    let (disk, writer) = started(1000, LONG);
    writer.put([&[1; 900], b""]).expect("it fits");
    let waiting = writer.clone();
    let thread = std::thread::spawn(move || waiting.put([&[2; 5000], &[3; 3 << 20]]));
    disk.go_on();
    thread.join().unwrap().expect("the disk took the first");
    writer.finish().expect("all is written");
    assert_eq!(disk.taken(), [vec![1; 900], vec![2; 5000], vec![3; 3 << 20]].concat());
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_the_disk_says_is_told_to_who_waits_who_records_and_who_finishes() {
    let writer = Writer::start(Full, Limits { buffer_bytes: 10_000, patience: LONG }).expect("a thread");
    writer.put([&[1; 9_000], b""]).expect("nothing is known yet");
    let error = writer.put([&[1; 9_000], b""]).expect_err("it waits for room that does not come");
    assert_eq!(error.to_string(), "full");
    assert_eq!(writer.finish().expect_err("it failed").to_string(), "full");
}

#[test]
fn a_process_that_was_forked_waits_for_nobody() {
    let (disk, mut writer) = started(1000, LONG);
    writer.process = 0;
    writer.put([b"x", b""]).expect_err("the thread is not there");
    writer.finish().expect_err("the thread is not there");
    disk.go_on();
    writer.process = std::process::id();
    writer.finish().expect("here it is");
}
