//! A bank in several processes: each has all accounts, and does the same transfers in the same order, without a lock and without a server of its own.
//!
//! `cargo run --release -p quintet --example bank`: threads are the branches. Under `quintet run -n 3 target/release/examples/bank` each is a process.
//!
//! A transfer is an isochron: the same message to every branch, executed by all at one instant of logical time, in one order. So each branch refuses the same transfers, those
//! for which the account has too little by then, and in the end all books are alike.

use quintet::{Code, Error, Job, Lab, Received, template, tuple};
use std::sync::{Arc, Mutex};
use std::thread;

const BRANCHES: u16 = 3;
const TRANSFERS: u64 = 100;
const TRANSFER: u32 = 1;

/// The accounts of a branch, and how many transfers it has refused.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Book {
    accounts: [u64; 4],
    refused: u64,
}

fn main() -> Result<(), Error> {
    let (job, lab) = (Job::from_environment()?, Lab::from_environment()?);
    match (job.rank, job.workers) {
        (Some(rank), workers) => {
            let fits = |number: u32| {
                u16::try_from(number).map_err(|_| Error::new(Code::BadValue, "too many workers"))
            };
            let book = branch(&lab, fits(rank)?, fits(workers)?)?;
            lab.space().out(tuple!["book", format!("{book:?}")])?;
        }
        (None, 0) => {
            let lab = &lab;
            let books = thread::scope(|scope| {
                let branches: Vec<_> =
                    (0..BRANCHES).map(|me| scope.spawn(move || branch(lab, me, BRANCHES))).collect();
                branches
                    .into_iter()
                    .map(|branch| branch.join().expect("it does not panic"))
                    .collect::<Result<Vec<_>, _>>()
            })?;
            assert!(books.iter().all(|book| *book == books[0]), "all books are alike: {books:?}");
            assert_eq!(books[0].accounts.iter().sum::<u64>(), 400, "no money is lost, and none is made");
            println!(
                "bank: ok, {} transfers, {} of them refused",
                u64::from(BRANCHES) * TRANSFERS,
                books[0].refused
            );
        }
        (None, workers) => {
            let books = (0..workers).map(|_| lab.space().take(&template!["book", ?str]));
            let books = books.collect::<Result<Vec<_>, Error>>()?;
            assert!(books.iter().all(|book| *book == books[0]), "all books are alike: {books:?}");
            println!("bank: ok, {workers} branches in processes of their own");
        }
    }
    Ok(())
}

/// Makes transfers, and keeps the book of everybody's.
fn branch(lab: &Lab, me: u16, of: u16) -> Result<Book, Error> {
    let book = Arc::new(Mutex::new(Book { accounts: [100; 4], refused: 0 }));
    let kept = Arc::clone(&book);
    let bank = lab
        .isochrons("bank")
        .member(me, of)
        .handler(TRANSFER, move |transfer| enter(&kept, transfer))
        .join()?;
    for number in 0..TRANSFERS {
        let mut transfer = bank.isochron()?;
        let bytes = [number % 4, (number + u64::from(me)) % 4, number * 7 % 60].map(|field| field as u8);
        (0..of).try_for_each(|branch| transfer.send(branch, TRANSFER, bytes.to_vec()))?;
        transfer.execute()?;
    }
    bank.close()?; // all branches have done all transfers
    let book = book.lock().expect("no handler panics").clone();
    Ok(book)
}

/// What every branch does with a transfer.
fn enter(book: &Mutex<Book>, transfer: &Received<'_>) {
    let [from, to, amount] = *transfer.bytes else { return };
    let mut book = book.lock().expect("no handler panics");
    let (from, to, amount) = (usize::from(from), usize::from(to), u64::from(amount));
    if book.accounts[from] < amount {
        book.refused += 1;
        return;
    }
    book.accounts[from] -= amount;
    book.accounts[to] += amount;
}
