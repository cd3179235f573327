//! Clerks ship orders from a stock: each order with its pieces, all of it at one instant or not at all.
//!
//! `cargo run --release -p quintet --example warehouse`: threads are the clerks, everything is in this process.
//!
//! A clerk waits for an order or for the end of the day, whichever is older (`select`), and does the order in a group: the order, the
//! stock before it and the stock after it are never seen half way, also not by the auditor, who reads the stock meanwhile. The day is ended by one
//! message that replaces what the office is (`replace`). At the end the pieces are counted.

use quintet::{Code, Error, Lab, Space, Template, Tuple, template, tuple};
use std::thread;

const CLERKS: usize = 4;
const ORDERS: i64 = 200;
const PIECES: i64 = 400;
const ITEMS: [&str; 2] = ["bolt", "nut"];

fn main() -> Result<(), Error> {
    let space = Lab::embedded().space();
    space.out_many(&ITEMS.map(|item| tuple!["stock", item, PIECES]), None)?;
    space.out(tuple!["office", "open"])?;
    let (done, audits) = thread::scope(|scope| {
        let clerks: Vec<_> = (0..CLERKS).map(|_| scope.spawn(|| serve(&space))).collect();
        let auditor = scope.spawn(|| audit(&space));
        for number in 0..ORDERS {
            space.out(tuple!["order", number, ITEMS[(number % 2) as usize], 1 + number % 9])?;
        }
        // Younger than all orders, so that those go first.
        space.replace(&template!["office", "open"], &[tuple!["office", "closed"]])?;
        let done = clerks.into_iter().map(|clerk| clerk.join().expect("it does not panic"));
        let done: usize = done.sum::<Result<usize, Error>>()?;
        Ok::<_, Error>((done, auditor.join().expect("it does not panic")?))
    })?;
    let left = pieces(&space, &template!["stock", ?str, ?i64], 2)?;
    let shipped = pieces(&space, &template!["shipped", ?i64, ?str, ?i64], 3)?;
    let refused = space.count(&template!["refused", ?i64, ?str, ?i64])?;
    assert_eq!(left + shipped, PIECES * ITEMS.len() as i64, "no piece is lost, and none is made");
    assert_eq!(done as i64, ORDERS, "each order is done once");
    println!("warehouse: ok, {done} orders, {refused} of them refused, {audits} audits");
    Ok(())
}

/// Does orders until the office is closed; how many.
fn serve(space: &Space) -> Result<usize, Error> {
    let order = template!["order", ?i64, ?str, ?i64];
    let mut done = 0;
    loop {
        let (which, _) = space.select_read(&[order.clone(), template!["office", "closed"]])?;
        if which == 1 {
            return Ok(done);
        }
        match ship(space, &order) {
            Ok(is_done) => done += usize::from(is_done),
            // The clerk was too slow for the group's time; the order is back.
            Err(error) if error.code() == Code::LeaseLost => {}
            Err(error) => return Err(error),
        }
    }
}

/// Does the oldest order, if no other clerk was faster.
fn ship(space: &Space, order: &Template) -> Result<bool, Error> {
    let group = space.group();
    let Some(order) = group.take_if(order)? else { return Ok(false) };
    let (item, wanted) = (order[2].clone(), number(&order, 3));
    let stock = group.take(&template!["stock", item.clone(), ?i64])?;
    let left = number(&stock, 2) - wanted;
    let (result, left) = if left < 0 { ("refused", left + wanted) } else { ("shipped", left) };
    group.out(tuple![result, order[1].clone(), item.clone(), wanted])?;
    group.out(tuple!["stock", item, left])?;
    group.commit()?;
    Ok(true)
}

/// Reads the whole stock again and again until the office is closed. A group that was not refused has seen both items at one instant.
fn audit(space: &Space) -> Result<usize, Error> {
    let mut audits = 0;
    while space.read_if(&template!["office", "closed"])?.is_none() {
        let group = space.group();
        for item in ITEMS {
            group.read(&template!["stock", item, ?i64])?;
        }
        match group.commit() {
            Ok(()) => audits += 1,
            Err(error) if error.code() == Code::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    Ok(audits)
}

/// The sum of a field of all tuples that match; they are taken.
fn pieces(space: &Space, template: &Template, field: usize) -> Result<i64, Error> {
    let mut sum = 0;
    while let Some(found) = space.take_if(template)? {
        sum += number(&found, field);
    }
    Ok(sum)
}

fn number(tuple: &Tuple, field: usize) -> i64 {
    tuple[field].clone().try_into().expect("the template says so")
}
