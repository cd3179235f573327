//! What a space counts is what it takes. In a process of its own, whose memory is nobody else's.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Field, Lab, SpaceConfig, Template, Tuple, Value};

const TUPLES: u64 = 60_000;
const FIELDS: usize = 8;

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB")).unwrap();
    size.trim().parse::<u64>().unwrap() << 10
}

fn tuple(number: u64) -> Tuple {
    // Each field has as many values as there are tuples: the dearest kind of index.
    Tuple::new((0..FIELDS as u64).map(|field| Value::from(number * 10 + field)).collect()).unwrap()
}

/// Asks for one value in one field: an index is made for it.
fn by_field(field: usize) -> Template {
    let wanted = Value::from(TUPLES / 2 * 10 + field as u64);
    let types: Vec<Field> = tuple(0).values().iter().map(|value| Field::from(value.value_type())).collect();
    let mut fields = types;
    fields[field] = Field::from(wanted);
    Template::new(fields).unwrap()
}

#[test]
fn the_quota_bounds_what_tuples_and_indexes_take() {
    let before = resident();
    let space = Lab::embedded_with(SpaceConfig::default(), None).space();
    for number in 0..TUPLES {
        space.out(tuple(number)).unwrap();
    }
    for field in 0..FIELDS {
        assert!(space.read_if(&by_field(field)).unwrap().is_some());
    }
    let state = space.status().unwrap();
    let (counted, taken) = (state.bytes + state.index_bytes, resident().saturating_sub(before));
    assert!(state.index_bytes >= 5 * 48 * TUPLES, "{} bytes of indexes", state.index_bytes);
    assert!(taken < counted + counted / 4, "{taken} bytes are taken, and {counted} were counted");

    let any = Template::new(tuple(0).values().iter().map(|value| Field::from(value.value_type())).collect())
        .unwrap();
    for _ in 0..TUPLES {
        space.take(&any).unwrap();
    }
    let state = space.status().unwrap();
    assert_eq!((state.bytes, state.index_bytes), (0, 0));
    let kept = resident().saturating_sub(before);
    // The allocator keeps some of the small pieces.
    assert!(kept < taken / 2, "{kept} of {taken} bytes are kept when all tuples are gone");
}

#[test]
fn an_index_for_which_there_is_no_room_is_not_made() {
    let max_bytes = 1_000 * 600;
    let space = Lab::embedded_with(SpaceConfig { max_bytes, ..SpaceConfig::default() }, None).space();
    let mut number = 0;
    while space.out_many(&[tuple(number)], Some(std::time::Duration::ZERO)).is_ok() {
        number += 1;
    }
    for field in 0..FIELDS {
        assert!(space.read_if(&by_field(field)).unwrap().is_none(), "it is answered all the same");
    }
    let state = space.status().unwrap();
    assert!(state.bytes + state.index_bytes <= max_bytes, "{state:?}");
}
