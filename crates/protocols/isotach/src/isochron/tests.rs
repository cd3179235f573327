use super::*;
use crate::isonet::Shape;
use crate::topology::Topology;

const X: Variable = Variable(1);
const LARGE: Variable = Variable(2);

fn composer() -> Composer {
    let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1)]).expect("it is one");
    let shape = |bytes| Shape { bytes, copies: BTreeSet::from([NodeId(0), NodeId(1)]) };
    let variables = [(X, shape(8)), (LARGE, shape(4096))].into();
    Composer::new(Arc::new(Isonet::new(topology, variables).expect("they are shared")), NodeId(0))
}

fn eight() -> Bytes {
    Bytes::from_static(b"12345678")
}

#[test]
fn what_is_begun_is_ended_once_and_not_within_another() {
    let mut composer = composer();
    assert_eq!((composer.read(X), composer.abandon()), (Err(Misuse::NotBegun), Err(Misuse::NotBegun)));
    assert_eq!(composer.end(), Err(Misuse::NotBegun));
    composer.begin().expect("none is open");
    assert_eq!(composer.end(), Err(Misuse::Empty));
    assert_eq!(composer.begin(), Err(Misuse::Nested { operations: 0 }));
    assert_eq!((composer.read(X), composer.read(X)), (Ok(0), Ok(1)));
    composer.write(X, eight()).expect("it fits");
    assert_eq!(composer.end().map(|isochron| isochron.operations.len()), Ok(3));
    composer.begin().expect("none is open");
    composer.abandon().expect("one is open");
    composer.begin().expect("none is open");
    composer.read(X).expect("it is known");
    assert_eq!(composer.close(), Err(Misuse::NeverEnded { operations: 1 }));
}

#[test]
fn what_nobody_knows_or_has_another_size_is_refused_and_the_isochron_goes_on() {
    let mut composer = composer();
    composer.begin().expect("none is open");
    let node = NodeId(9);
    assert_eq!(composer.send(node, 1, Bytes::new()), Err(Misuse::UnknownNode { node }));
    let variable = Variable(9);
    assert_eq!(composer.read(variable), Err(Misuse::UnknownVariable { variable }));
    let wrong = Misuse::WrongSize { variable: X, given: 2, size: 8 };
    assert_eq!(composer.write(X, Bytes::from_static(b"no")), Err(wrong));
    assert_eq!(composer.assign(X, eight()), Err(Misuse::NotReserved { variable: X }));
    composer.sched(X).expect("it is free");
    assert_eq!(composer.sched(X), Err(Misuse::ReservedTwice { variable: X }));
    assert_eq!(composer.end().map(|isochron| isochron.operations), Ok(vec![Operation::Sched(X)]));
    composer.begin().expect("none is open");
    composer.assign(X, eight()).expect("it is reserved");
    composer.abandon().expect("one is open");
    composer.begin().expect("none is open");
    composer.assign(X, eight()).expect("what was abandoned gave nothing");
}

#[test]
fn who_does_not_know_places_checks_none() {
    let known = composer();
    let mut composer = Composer::without_places(Arc::clone(&known.isonet), NodeId(0));
    composer.begin().expect("none is open");
    assert_eq!((composer.assign(X, eight()), composer.sched(X), composer.sched(X)), (Ok(()), Ok(()), Ok(())));
    let wrong = Misuse::WrongSize { variable: X, given: 2, size: 8 };
    assert_eq!(composer.assign(X, Bytes::from_static(b"no")), Err(wrong));
    assert_eq!(composer.operations().len(), 3);
    let isochron = composer.end().expect("it has operations");
    assert_eq!((composer.operations().len(), isochron.operations().len()), (0, 3));
    let refused = check(&known.isonet, isochron.operations(), &BTreeSet::new());
    assert_eq!(refused, Err(Misuse::NotReserved { variable: X }));
}

#[test]
fn a_long_message_counts_once_whoever_gets_it_and_the_others_have_a_limit() {
    let mut composer = composer();
    composer.begin().expect("none is open");
    let long = Bytes::from(vec![7; MAX_MESSAGE_BYTES]);
    for _ in 0..100 {
        assert_eq!(composer.send(NodeId(1), 1, long.clone()), Ok(()));
    }
    let others = |composer: &mut Composer, bytes| {
        let fits = |_: &usize| composer.send(NodeId(1), 1, Bytes::from(vec![8; bytes])).is_ok();
        (0..).take_while(fits).count()
    };
    let each = 5000 + 11;
    assert_eq!(others(&mut composer, 5000), (MAX_ISOCHRON_BYTES - FRONT_BYTES - 1100) / each);
    let refused = composer.send(NodeId(1), 1, Bytes::from(vec![9; 5000]));
    assert!(matches!(refused, Err(Misuse::TooLarge { what: "bytes beside its longest message", .. })));
    let isochron = composer.end().expect("it has operations");
    assert_eq!(check(&composer.isonet, &isochron.operations, &BTreeSet::new()), Ok(BTreeSet::new()));
    let body = quintet_wire::encode_to_vec(&isochron);
    assert!(body.len() <= MAX_ISOCHRON_BYTES, "it fits a frame: {}", body.len());
}

#[test]
fn a_message_that_is_longer_than_those_before_takes_their_place_beside_the_frame() {
    let mut composer = composer();
    composer.begin().expect("none is open");
    let [short, long] = [SHORT_MESSAGE_BYTES + 1, MAX_MESSAGE_BYTES].map(|bytes| Bytes::from(vec![7; bytes]));
    assert_eq!(composer.send(NodeId(1), 1, short), Ok(()));
    assert_eq!(composer.send(NodeId(1), 1, long.clone()), Ok(()));
    let another = Bytes::from(long.to_vec());
    assert!(matches!(composer.send(NodeId(1), 1, another), Err(Misuse::TooLarge { .. })));
    assert_eq!(composer.send(NodeId(0), 1, long), Ok(()));
    let body = quintet_wire::encode_to_vec(&composer.end().expect("it has operations"));
    assert!(body.len() < 2 * SHORT_MESSAGE_BYTES, "one of them is in it: {}", body.len());
}

#[test]
fn an_isochron_is_at_most_as_large_as_it_may_be() {
    let mut composer = composer();
    composer.begin().expect("none is open");
    let long = Bytes::from(vec![7; MAX_MESSAGE_BYTES + 1]);
    let refused = composer.send(NodeId(1), 1, long);
    assert!(matches!(refused, Err(Misuse::TooLarge { what: "bytes in a message", .. })));
    let mut read = 0;
    let refused = loop {
        match composer.read(LARGE) {
            Ok(_) => read += 1,
            Err(misuse) => break misuse,
        }
    };
    assert!(read == 14 && matches!(refused, Misuse::TooLarge { what: "bytes of values that are read", .. }));
    let added = (0..).take_while(|_| composer.send(NodeId(1), 1, Bytes::new()).is_ok()).count();
    assert_eq!(added + read, MAX_OPERATIONS);
    let isochron = composer.end().expect("it is as large as it may be");
    let isonet = &composer.isonet;
    assert_eq!(check(isonet, &isochron.operations, &BTreeSet::new()), Ok(BTreeSet::new()));
    let more: Vec<Operation> = [isochron.operations, vec![Operation::Read(X)]].concat();
    assert!(check(isonet, &more, &BTreeSet::new()).is_err());
}
