//! Members of an isonet that ended come back: with the variables and the state of those who are left, in the one order.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{
    Cause, Code, Error, Isonet, IsonetBuilder, IsonetCause, Lab, NoValue, ServeConfig, Server, Variable,
};
use quintet_testbed::TempDir;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const TOTAL: Variable = Variable(1);
/// Has its copies at members 1 and 2.
const AT_TWO: Variable = Variable(2);
const MEMBERS: u16 = 3;
/// Takes a number into the book.
const ENTER: u32 = 7;

/// All that a member was told, or has from others: the same at all.
type Book = Arc<Mutex<Vec<u8>>>;

/// A space, and members with a connection to it each.
struct Job {
    space: std::path::PathBuf,
    _server: Server,
    _dir: TempDir,
}

impl Job {
    fn new() -> Job {
        let dir = TempDir::new().unwrap();
        let space = dir.join("space");
        let _server = Server::start(&space, &ServeConfig::default()).unwrap();
        Job { space, _server, _dir: dir }
    }

    /// What a member says before it joins, with the book that it keeps.
    fn member(&self, me: u16, book: &Book) -> IsonetBuilder {
        let [entered, given, taken] = [(); 3].map(|()| Arc::clone(book));
        self.without_state(me)
            .handler(ENTER, move |message| entered.lock().unwrap().extend_from_slice(message.bytes))
            .state(
                move || Ok(given.lock().unwrap().clone()),
                move |bytes| {
                    *taken.lock().unwrap() = bytes.to_vec();
                    Ok(())
                },
            )
    }

    fn without_state(&self, me: u16) -> IsonetBuilder {
        let lab = Lab::connect(&self.space, 0, LONG).unwrap();
        let builder = lab.isochrons("test").member(me, MEMBERS).limit(LONG).rejoinable();
        builder.variable(TOTAL, 8).variable_at(AT_TWO, 1, &[1, 2])
    }

    fn join_all(&self, books: &[Book]) -> Vec<Option<Isonet>> {
        thread::scope(|scope| {
            let builders = (0..MEMBERS).zip(books).map(|(me, book)| self.member(me, book));
            let joining: Vec<_> = builders.map(|builder| scope.spawn(|| builder.join())).collect();
            joining.into_iter().map(|joining| Some(joining.join().unwrap().unwrap())).collect()
        })
    }
}

/// Enters a number everywhere, adds it to the total and writes it, at one instant, in whatever view does that first.
fn enter(isonet: &Isonet, number: u8) -> Result<(), Error> {
    loop {
        let members = isonet.view().members;
        let entered = isonet.isochron().and_then(|mut isochron| {
            isochron.send_all(ENTER, vec![number])?;
            isochron.write(TOTAL, u64::from(number).to_le_bytes().to_vec())?;
            isochron.write(AT_TWO, vec![number])?;
            isochron.execute()
        });
        match entered {
            Ok(_) => return Ok(()),
            Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => {}
            Err(_) if isonet.view().members != members => {}
            Err(error) => return Err(error),
        }
    }
}

fn read(isonet: &Isonet, variable: Variable) -> Vec<u8> {
    let mut isochron = isonet.isochron().unwrap();
    isochron.read(variable).unwrap();
    isochron.execute().unwrap().values.remove(0).unwrap().to_vec()
}

fn wait_for_view(isonet: &Isonet, members: &[u16]) {
    while isonet.view().members != members {
        thread::yield_now();
    }
}

#[test]
fn whoever_ended_comes_back_with_what_the_others_have_also_who_keeps_the_pulse() {
    let job = Job::new();
    let mut books: Vec<Book> = (0..MEMBERS).map(|_| Book::default()).collect();
    let mut members = job.join_all(&books);
    let mut number = 0;
    for gone in [1, 0, 2, 0, 1] {
        drop(members[gone].take());
        let others: Vec<u16> = (0..MEMBERS).filter(|member| usize::from(*member) != gone).collect();
        for other in &others {
            let other = members[usize::from(*other)].as_ref().unwrap();
            wait_for_view(other, &others);
            number += 1;
            enter(other, number).unwrap();
        }
        books[gone] = Book::default();
        let back = job.member(u16::try_from(gone).unwrap(), &books[gone]).rejoin().unwrap();
        assert_eq!(back.view().members, [0, 1, 2]);
        assert_eq!(read(&back, TOTAL), u64::from(number).to_le_bytes(), "what was written without it");
        assert_eq!(read(&back, AT_TWO), [number]);
        number += 1;
        enter(&back, number).unwrap();
        members[gone] = Some(back);
    }
    let members: Vec<Isonet> = members.into_iter().flatten().collect();
    let all: Vec<u8> = (1..=number).collect();
    thread::scope(|scope| {
        let closing: Vec<_> = members.iter().map(|member| scope.spawn(|| member.close())).collect();
        closing.into_iter().for_each(|closing| closing.join().unwrap().unwrap());
    });
    for book in &books {
        assert_eq!(*book.lock().unwrap(), all);
    }
}

/// What an isonet has lost is told from what it never had, and the rest of the isochron is executed.
#[test]
fn who_has_ended_and_what_went_with_them_are_refused_as_such() {
    let job = Job::new();
    let books: Vec<Book> = (0..MEMBERS).map(|_| Book::default()).collect();
    let mut members = job.join_all(&books);
    for left in [vec![0, 1], vec![0]] {
        drop(members.pop());
        wait_for_view(members[0].as_ref().unwrap(), &left);
    }
    let left = members[0].as_ref().unwrap();
    let lost = Cause::Isonet(IsonetCause::NoValue(NoValue::Lost));
    let mut isochron = left.isochron().unwrap();
    assert_eq!(isochron.send(1, ENTER, vec![1]).unwrap_err().code(), Code::PeerDied);
    assert_eq!(isochron.send(MEMBERS, ENTER, vec![1]).unwrap_err().code(), Code::BadValue);
    assert_eq!(isochron.read(AT_TWO).unwrap_err().cause(), &lost);
    assert_eq!(isochron.write(AT_TWO, vec![1]).unwrap_err().cause(), &lost);
    assert_eq!(isochron.schedule(AT_TWO).unwrap_err().cause(), &lost);
    assert_eq!(isochron.read(Variable(9)).unwrap_err().code(), Code::BadValue);
    isochron.send(0, ENTER, vec![1]).unwrap();
    isochron.execute().unwrap();
    assert_eq!(*books[0].lock().unwrap(), [1]);
    assert_eq!(left.send_plain(2, ENTER, vec![]).unwrap_err().code(), Code::PeerDied);
    let update = left.update(&[AT_TWO], |had| Ok(had.to_vec()));
    assert_eq!(update.unwrap_err().cause(), &lost);
}

/// Two members enter numbers without a pause while the third ends and comes back: all books are the same in the end.
#[test]
fn who_comes_back_misses_nothing_and_has_nothing_twice_while_others_go_on() {
    const EACH: u8 = 100;
    let job = Job::new();
    let mut books: Vec<Book> = (0..MEMBERS).map(|_| Book::default()).collect();
    let mut members = job.join_all(&books);
    let third = members[2].take().unwrap();
    let [first, second] = [0, 1].map(|member| members[member].as_ref().unwrap());
    let back = thread::scope(|scope| {
        let entering = [(first, 0), (second, EACH)].map(|(member, from)| {
            scope.spawn(move || (from..from + EACH).try_for_each(|number| enter(member, number)))
        });
        drop(third);
        let mut back = Vec::new();
        for _ in 0..4 {
            drop(back.pop());
            books[2] = Book::default();
            back.push(job.member(2, &books[2]).rejoin().unwrap());
        }
        entering.into_iter().for_each(|entering| entering.join().unwrap().unwrap());
        back
    });
    thread::scope(|scope| {
        let members = [first, second, &back[0]].map(|member| scope.spawn(|| member.close()));
        members.into_iter().for_each(|closing| closing.join().unwrap().unwrap());
    });
    let book = |member: usize| books[member].lock().unwrap().clone();
    assert_eq!((book(0).len(), book(0)), (2 * usize::from(EACH), book(1)));
    assert_eq!(book(0), book(2));
}

#[test]
fn who_cannot_come_back_is_told_why_and_the_others_go_on() {
    let job = Job::new();
    let books: Vec<Book> = (0..MEMBERS).map(|_| Book::default()).collect();
    let nobody = job.member(1, &books[1]).rejoin().err().unwrap();
    assert_eq!(nobody.code(), Code::NoHandler, "{nobody}");
    let mut members = job.join_all(&books);
    drop(members[1].take());
    wait_for_view(members[0].as_ref().unwrap(), &[0, 2]);
    enter(members[0].as_ref().unwrap(), 5).unwrap();
    let other = job.member(1, &books[1]).variable(Variable(9), 8).rejoin().err().unwrap();
    assert_eq!(other.code(), Code::BadValue, "{other}");
    assert!(other.text().contains("do not share the same"), "{other}");
    let stateless = job.without_state(1).handler(ENTER, |_| {}).rejoin().err().unwrap();
    assert_eq!(stateless.code(), Code::BadValue, "{stateless}");
    assert!(stateless.text().contains("this one takes none"), "{stateless}");
    for member in members.iter().flatten() {
        wait_for_view(member, &[0, 2]);
        enter(member, 6).unwrap();
    }
    let back = job.member(1, &books[1]).rejoin().unwrap();
    assert_eq!(*books[1].lock().unwrap(), [5, 6, 6]);
    assert_eq!(read(&back, AT_TWO), [6]);
}

#[test]
fn what_was_for_all_and_is_not_any_more_is_not_executed_when_somebody_has_come_back() {
    let job = Job::new();
    let mut books: Vec<Book> = (0..MEMBERS).map(|_| Book::default()).collect();
    let mut members = job.join_all(&books);
    drop(members[1].take());
    let first = members[0].as_ref().unwrap();
    wait_for_view(first, &[0, 2]);
    let [mut for_all, mut of_values] = [(); 2].map(|()| first.maker().isochron().unwrap());
    assert_eq!(for_all.members(), [0, 2]);
    for_all.members().iter().for_each(|to| for_all.send(*to, ENTER, vec![1]).unwrap());
    of_values.write(AT_TWO, vec![2]).unwrap();
    books[1] = Book::default();
    let back = job.member(1, &books[1]).rejoin().unwrap();
    wait_for_view(first, &[0, 1, 2]);
    let error = for_all.execute().unwrap_err();
    assert_eq!(error.cause(), &Cause::Isonet(IsonetCause::ViewChanged), "{error}");
    assert!(error.text().starts_with("view 3 (with who has come back: 1) began"), "{error}");
    assert_eq!((first.view().lost, first.view().back), (vec![], vec![1]));
    of_values.execute().unwrap();
    assert_eq!(read(&back, AT_TWO), [2], "what has no message is for all copies that there are");
    assert!(books.iter().all(|book| book.lock().unwrap().is_empty()));
}
