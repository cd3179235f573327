//! Arrays that are put and taken where they lie, over shared memory. One test alone: it counts what its process copies.

use quintet::stack;
use quintet::{
    Array, ArrayOf, Buffer, ElementType, Lab, Recorder, ServeConfig, Server, bulk_bytes_copied, template,
    tuple,
};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs::File;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);
const ITEMS: usize = 20_000;
/// Of an array that no ring takes in one frame, and no segment that is remembered holds.
const LONG_ITEMS: usize = 700_000;

/// An array whose numbers are all this one, in memory that is lent.
fn full_of(value: f64, items: usize) -> Array {
    let mut buffer = Buffer::new(items * size_of::<f64>()).expect("descriptors and memory");
    for item in buffer.as_chunks_mut::<8>().0 {
        *item = value.to_le_bytes();
    }
    Array::new(ElementType::F64, vec![items as u64], buffer.freeze()).expect("as long as its shape says")
}

#[test]
fn an_array_is_copied_nowhere_and_a_recording_of_it_replays() {
    let dir = TempDir::new().unwrap();
    let (socket, path) = (dir.join("space"), dir.join("job.qrec"));
    let recorder = Recorder::create(&path).unwrap();
    let config = ServeConfig { recorder: Some(recorder.clone()), ..ServeConfig::default() };
    let server = Server::start(&socket, &config).unwrap();
    let (maker, taker) = (Lab::connect(&socket, 0, LONG).unwrap(), Lab::connect(&socket, 0, LONG).unwrap());
    let before = bulk_bytes_copied();
    let mut kept = Vec::new();
    for n in 0..30i64 {
        maker.space().out(tuple!["array", n, full_of(n as f64, ITEMS)]).unwrap();
        let taken = taker.space().take(&template!["array", n, ?ArrayOf<f64, 1>]).unwrap();
        let array: Array = taken[2].clone().try_into().unwrap();
        kept.push((n as f64, array));
        kept.drain(..kept.len().saturating_sub(5));
    }
    // A take that waits is answered with the array as it comes.
    let waiting = taker.space().begin().take(&template!["late", ?ArrayOf<f64, 1>]).unwrap();
    maker.space().out(tuple!["late", full_of(-1., ITEMS)]).unwrap();
    drop(waiting);
    maker.space().out(tuple!["long", full_of(7., LONG_ITEMS)]).unwrap();
    let taken = taker.space().take(&template!["long", ?ArrayOf<f64, 1>]).unwrap();
    let long: Array = taken[1].clone().try_into().unwrap();
    assert_eq!(bulk_bytes_copied(), before);
    drop((maker, taker));
    server.stop().unwrap();
    assert_eq!(long.elements::<f64>().unwrap(), vec![7.; LONG_ITEMS]);
    for (value, array) in kept {
        assert_eq!(array.elements::<f64>().unwrap(), vec![value; ITEMS]);
    }
    recorder.finish().unwrap();
    let replayed = replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
    assert!(replayed.bytes > 31 * (ITEMS * size_of::<f64>()) as u64, "{replayed:?}");
}
