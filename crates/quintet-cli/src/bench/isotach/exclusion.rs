//! What others do with locks, by isochrons: philosophers who take both forks at one instant, and transfers between accounts of which each member has a book.
//! Beside a lock server on Redis.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::Peer;
use super::net::Net;
use super::task::{Noted, Task, Way};
use super::{PLACEMENT, WAITING};
use crate::commands::isotach::{FORK_BYTES, copies_of, forks_of, put, take};
use quintet::{Error, Isonet, IsonetBuilder, Variable};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Enters a transfer into the book.
const TRANSFER: u32 = 9;
/// Accounts, and what is in each at first, as the peer has them.
const ACCOUNTS: u8 = 64;
const BALANCE: u64 = 1_000;
const MOST_AMOUNT: u8 = 50;

const PHILOSOPHERS: u16 = 5;
const BRANCHES: u16 = 4;
/// Meals or transfers of a round, shared out among the members, and untimed ones; as the peer does.
const TIMED: usize = 3_000;
const UNTIMED: usize = 300;
const OPTIONS: &[&str] = &["--iterations", "3000", "--warmup", "300"];
/// At least as many as with locks.
const GOAL: f64 = 1.;

pub(super) fn cases() -> Vec<Case> {
    let case = |name, what, prepare: Prepare, of_peer| {
        Case::new(Group::Isotach, name, Unit::PerSecond(what), Better::Higher, prepare)
            .beside(Beside::Program(Peer::new("redis-locks", "redis_locks", of_peer).with(OPTIONS)))
            .goal(GOAL)
            .under(WAITING, PLACEMENT)
            .on_all_processors()
    };
    vec![
        case("philosophers-5-shm", "meals", || prepare(PHILOSOPHERS, Way::Meals), "philosophers-5"),
        case("bank-transfers-4-shm", "transfers", || prepare(BRANCHES, Way::Transfers), "transfers-4"),
    ]
}

/// What all members together do in a second, each one after the other.
fn prepare(members: u16, way: Way) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, members)?;
    let all = usize::from(members);
    let task = |count| Task { way, bytes: 0, count, window: 1, receivers: vec![0], noted: Noted::Nothing };
    net.all_do(0..members, &task(UNTIMED / all))?;
    let task = task(TIMED / all);
    Ok(net.rounds(move |net| {
        let started = Instant::now();
        net.all_do(0..members, &task)?;
        Ok((task.count * all) as f64 / started.elapsed().as_secs_f64())
    }))
}

/// A fork between each two members, and a book of accounts at each.
pub(super) fn with_forks_and_book(builder: IsonetBuilder, members: u16) -> IsonetBuilder {
    let with_fork = |builder: IsonetBuilder, fork: u16| {
        builder.variable_at(Variable(fork.into()), FORK_BYTES, &copies_of(fork, members))
    };
    let book = Mutex::new([BALANCE; ACCOUNTS as usize]);
    (0..members).fold(builder, with_fork).handler(TRANSFER, move |message| {
        // Nobody panics while it is entered.
        enter(&mut book.lock().unwrap_or_else(PoisonError::into_inner), message.bytes);
    })
}

/// So many meals: two isochrons each, one that takes both forks and one that puts them down.
///
/// # Errors
/// A member is gone.
pub(super) fn dine(isonet: &Isonet, count: usize) -> Result<(), Error> {
    let forks = forks_of(isonet.member(), isonet.members());
    (0..count).try_for_each(|_| put(isonet, forks, &take(isonet, forks)?).map(drop))
}

/// So many transfers: an isochron each, with a message to every member, whose books are alike for that.
///
/// # Errors
/// A member is gone.
pub(super) fn transfer(isonet: &Isonet, count: usize) -> Result<(), Error> {
    let mut drawn = u64::from(isonet.member()) + 1;
    for _ in 0..count {
        let source = draw(&mut drawn, ACCOUNTS);
        let target = (source + 1 + draw(&mut drawn, ACCOUNTS - 1)) % ACCOUNTS;
        let transfer = [source, target, 1 + draw(&mut drawn, MOST_AMOUNT)];
        let mut isochron = isonet.isochron()?;
        isochron.send_all(TRANSFER, transfer.to_vec())?;
        isochron.execute()?;
    }
    Ok(())
}

/// A number below that, by xorshift64 (Marsaglia 2003).
fn draw(state: &mut u64, below: u8) -> u8 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % u64::from(below)) as u8
}

/// A transfer of what the source does not have is refused.
fn enter(book: &mut [u64; ACCOUNTS as usize], transfer: &[u8]) {
    let &[source, target, amount] = transfer else { return };
    let (source, target, amount) = (usize::from(source), usize::from(target), u64::from(amount));
    if let Some(left) = book[source].checked_sub(amount) {
        book[source] = left;
        book[target] += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_neither_make_money_nor_lose_any() {
        let (mut book, mut drawn) = ([BALANCE; ACCOUNTS as usize], 7);
        for _ in 0..10_000 {
            let (source, target) = (draw(&mut drawn, ACCOUNTS), draw(&mut drawn, ACCOUNTS));
            enter(&mut book, &[source, target, draw(&mut drawn, MOST_AMOUNT)]);
        }
        assert_eq!(book.iter().sum::<u64>(), BALANCE * u64::from(ACCOUNTS));
        let before = book;
        book[3] = 0;
        enter(&mut book, &[3, 4, 1]);
        assert_eq!(book[4], before[4]);
    }
}
