use super::*;
#[cfg(not(loom))]
use crate::Effects;

#[cfg(not(loom))]
#[test]
#[expect(clippy::disallowed_methods, reason = "the two halves run on two threads")]
fn a_reader_never_sees_a_torn_value() {
    let rounds = if cfg!(miri) { 200 } else { 200_000 };
    let (mut writer, mut reader) = cell([0u64; 3]);
    let writing = std::thread::spawn(move || {
        (1..=rounds).for_each(|n| writer.poke([n; 3], &mut Effects::default()));
    });
    let mut last = 0;
    while last < rounds {
        let value = reader.peek(&mut Effects::default());
        assert_eq!(value, [value[0]; 3], "torn");
        assert!(value[0] >= last, "went back from {last} to {}", value[0]);
        last = value[0];
    }
    writing.join().expect("the writer does not panic");
}

#[cfg(not(loom))]
#[test]
fn a_writer_stopped_in_the_middle_keeps_nobody_from_the_value_before() {
    let (mut writer, mut reader) = cell([1u64, 1]);
    let mut out = Effects::default();
    writer.poke([2, 2], &mut out);
    // What `write` does before it tells of the value.
    writer.0.copy(2)[0].store(3, Ordering::Relaxed);
    assert_eq!(reader.peek(&mut out), [2, 2]);
    writer.poke([3, 3], &mut out);
    assert_eq!(reader.peek(&mut out), [3, 3]);
    assert_eq!(reader.clone().seen.number, 2);
}

#[cfg(not(loom))]
#[test]
fn a_value_of_any_length_comes_back() {
    let mut out = Effects::default();
    let (mut writer, mut reader) = cell(7u64);
    assert_eq!(reader.peek(&mut out), 7);
    writer.poke(8, &mut out);
    assert_eq!(reader.peek(&mut out), 8);
    let (mut writer, mut reader) = cell([1u64, 2]);
    writer.poke([3, 4], &mut out);
    assert_eq!(reader.peek(&mut out), [3, 4]);
}

#[cfg(not(loom))]
#[test]
fn a_cell_is_itself_and_no_other() {
    let ((one, reader), (other, _)) = (cell(1u64), cell(1u64));
    assert!(one.0.is(&reader.cell) && !one.0.is(&other.0));
}

/// Every interleaving of a writer and a reader, within loom's bounds.
#[cfg(loom)]
#[test]
fn loom_finds_whole_values_that_never_go_back() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (writer, reader) = cell([0u64, 0]);
        let written = writer.0.clone();
        let writing = loom::thread::spawn(move || (1..=2).for_each(|n| written.write([n, n, 0])));
        let mut seen = reader.seen;
        for _ in 0..2 {
            let before = seen;
            reader.cell.read(&mut seen);
            assert_eq!(seen.words, [seen.number, seen.number, 0], "torn");
            assert!(seen.number >= before.number);
        }
        writing.join().expect("the writer does not panic");
    });
}
