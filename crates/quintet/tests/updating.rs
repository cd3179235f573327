//! Updates of shared variables: nobody comes in between, and what has no value says why.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Cause, Code, Error, Isonet, IsonetBuilder, IsonetCause, Lab, NoValue, Variable};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const X: Variable = Variable(1);
const Y: Variable = Variable(2);
/// Has its only copy at the last member.
const Z: Variable = Variable(3);

fn said(lab: &Lab, me: u16, of: u16) -> IsonetBuilder {
    let builder = lab.isochrons("updates").member(me, of).limit(LONG).silence_limit(LONG).rejoinable();
    builder.variable(X, 8).variable(Y, 8).variable_at(Z, 8, &[of - 1])
}

fn join(lab: &Lab, of: u16) -> Vec<Isonet> {
    thread::scope(|scope| {
        let joining: Vec<_> = (0..of).map(|me| scope.spawn(move || said(lab, me, of).join())).collect();
        joining.into_iter().map(|joining| joining.join().unwrap().unwrap()).collect()
    })
}

fn close(members: &[Isonet]) {
    thread::scope(|scope| members.iter().for_each(|member| drop(scope.spawn(|| member.close().unwrap()))));
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn add(member: &Isonet, variable: Variable, amount: i64) -> Result<i64, Error> {
    let values = member
        .update(&[variable], |had| Ok(vec![(number(&had[0]) + amount).to_le_bytes().to_vec().into()]))?;
    Ok(number(&values[0]))
}

fn read(member: &Isonet, variable: Variable) -> Result<i64, Error> {
    let mut isochron = member.isochron()?;
    isochron.read(variable)?;
    Ok(number(&isochron.execute()?.values.remove(0)?))
}

fn why(error: &Error) -> NoValue {
    match error.cause() {
        Cause::Isonet(IsonetCause::NoValue(why)) => *why,
        other => panic!("{other:?}: {error}"),
    }
}

#[test]
fn updates_of_several_variables_by_many_threads_lose_nothing_and_never_wait_in_a_circle() {
    let lab = Lab::embedded();
    let members = join(&lab, 2);
    thread::scope(|scope| {
        for member in members.iter().flat_map(|member| [member; 3]) {
            scope.spawn(move || {
                for round in 0..20 {
                    let pair = if round % 2 == 0 { [X, Y] } else { [Y, X] };
                    let moved = member.update(&pair, |had| {
                        let [one, other] = [number(&had[0]) - 1, number(&had[1]) + 2];
                        Ok([one, other].map(|value| value.to_le_bytes().to_vec().into()).into())
                    });
                    assert_eq!(moved.unwrap().len(), 2);
                }
            });
        }
    });
    let [x, y] = [X, Y].map(|variable| read(&members[0], variable).unwrap());
    assert_eq!((x + y, x), (120, 60));
    close(&members);
}

#[test]
fn one_of_those_who_swap_at_once_has_swapped() {
    let lab = Lab::embedded();
    let members = join(&lab, 3);
    for round in 0..10i64 {
        let (before, after) = (round.to_le_bytes(), (round + 1).to_le_bytes());
        let swapped = thread::scope(|scope| {
            let swaps = members.iter().map(|member| {
                scope.spawn(move || member.compare_and_swap(X, &before, after.to_vec()).unwrap())
            });
            let swaps: Vec<_> = swaps.collect();
            swaps.into_iter().map(|swap| swap.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(swapped.iter().filter(|swapped| **swapped).count(), 1, "round {round}");
    }
    let refused = members[0].compare_and_swap(X, &[0; 4], vec![0; 8]).unwrap_err();
    assert!(refused.code() == Code::BadValue && refused.text().contains("has 8 bytes"), "{refused}");
    assert_eq!(read(&members[1], X), Ok(10));
    close(&members);
}

#[test]
fn what_comes_to_nothing_leaves_variables_as_they_are() {
    let lab = Lab::embedded();
    let members = join(&lab, 2);
    assert_eq!(add(&members[0], X, 5), Ok(5));
    let fails = |with: &dyn Fn() -> Result<Vec<quintet::Bytes>, Error>| members[0].update(&[X], |_| with());
    let own = Error::new(Code::TaskFailed, "not today");
    assert_eq!(fails(&|| Err(own.clone())).unwrap_err(), own);
    assert_eq!(fails(&|| Ok(vec![])).unwrap_err().code(), Code::BadValue);
    assert_eq!(fails(&|| Ok(vec![vec![0; 7].into()])).unwrap_err().code(), Code::BadValue);
    let panicked = thread::scope(|scope| {
        scope.spawn(|| members[0].update(&[X], |_| panic!("the test wants it"))).join().is_err()
    });
    assert!(panicked);
    for variables in [&[][..], &[X, Y, X], &[Variable(9)]] {
        assert_eq!(members[0].update(variables, |_| Ok(vec![])).unwrap_err().code(), Code::BadValue);
    }
    // Dropped before it is one's turn, once it is, and once it is known.
    let held = members[0].maker().reserve(&[X]).unwrap().finish().unwrap();
    let waits = members[0].maker().reserve(&[X, Y]).unwrap();
    assert!(!waits.is_done());
    drop(waits);
    drop(held);
    drop(members[0].maker().reserve(&[X]).unwrap());
    let reserving = members[0].maker().reserve(&[X]).unwrap();
    let (done, is_done) = mpsc::channel();
    reserving.notify(Box::new(move || done.send(()).unwrap()));
    is_done.recv_timeout(LONG).unwrap();
    drop(reserving);
    assert_eq!((add(&members[1], X, 1), read(&members[0], X)), (Ok(6), Ok(6)));
    close(&members);
    assert_eq!(add(&members[0], X, 1).unwrap_err().code(), Code::Closed);
}

#[test]
fn updates_go_on_over_the_end_of_a_view() {
    let lab = Lab::embedded();
    let mut members = join(&lab, 3);
    let reserved = members[0].maker().reserve(&[X]).unwrap().finish().unwrap();
    drop(members.pop());
    while members[0].view().members.len() > 2 {
        thread::yield_now();
    }
    reserved.assign(vec![7i64.to_le_bytes().to_vec().into()]).unwrap().finish().unwrap();
    assert_eq!(add(&members[1], X, 1), Ok(8));
    close(&members);
}

#[test]
fn a_reader_is_told_whether_the_writer_has_died_or_all_copies_are_lost() {
    let lab = Lab::embedded();
    let mut members = join(&lab, 3);
    let mut reserving = members[2].isochron().unwrap();
    reserving.schedule(X).unwrap();
    reserving.execute().unwrap();
    let mut reading = members[0].isochron().unwrap();
    reading.read(X).unwrap();
    let reading = reading.begin().unwrap();
    drop(members.pop());
    // Who waited, who reads behind it, and who updates: this one leaves zeros.
    assert_eq!(reading.finish().unwrap().values, [Err(NoValue::WriterDied)]);
    assert_eq!(why(&read(&members[1], X).unwrap_err()), NoValue::WriterDied);
    let error = add(&members[0], X, 1).unwrap_err();
    assert!(error.code() == Code::PeerDied && error.text().contains("had reserved the place"), "{error}");
    assert_eq!(why(&error), NoValue::WriterDied);
    assert_eq!(add(&members[0], X, 1), Ok(1));
    // The last copy of Z went with member 2.
    members.push(said(&lab, 2, 3).rejoin().unwrap());
    assert_eq!(why(&read(&members[0], Z).unwrap_err()), NoValue::Lost);
    assert_eq!(why(&read(&members[2], Z).unwrap_err()), NoValue::Lost);
    // Who has not begun the view with the copy has nowhere to write.
    while members[1].view().members.len() < 3 {
        thread::yield_now();
    }
    let mut writing = members[1].isochron().unwrap();
    writing.write(Z, 3i64.to_le_bytes().to_vec()).unwrap();
    writing.execute().unwrap();
    assert_eq!(read(&members[0], Z), Ok(3));
    close(&members);
}

#[test]
fn a_handler_that_updates_is_refused_and_the_variable_stays() {
    let lab = Lab::embedded();
    let (told, refused) = mpsc::channel();
    let builder = said(&lab, 0, 1).handler(1, move |message| {
        let reserving = message.maker().reserve(&[X]).unwrap();
        told.send(reserving.finish().err().unwrap()).unwrap();
    });
    let member = builder.join().unwrap();
    let mut isochron = member.isochron().unwrap();
    isochron.send(0, 1, "go").unwrap();
    isochron.execute().unwrap();
    let error = refused.recv_timeout(LONG).unwrap();
    assert!(error.code() == Code::BadValue && error.text().contains("wait for itself"), "{error}");
    assert_eq!(add(&member, X, 2), Ok(2));
    member.close().unwrap();
}
