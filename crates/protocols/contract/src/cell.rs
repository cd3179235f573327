//! The latest value shared by two halves of one protocol: the only sanctioned sharing.
//!
//! One half writes, the others read; neither waits for the other's `handle`. Both go through the outbox, so that a simulated
//! host gives a write its time and lets a read be late, and a recorder keeps what was read.
//!
//! ```text
//!  0         8                  32                 56        64
//!  +---------+------------------+------------------+---------+
//!  | number  | even values      | odd values       | unused  |     one cache line
//!  +---------+------------------+------------------+---------+
//! ```
//!
//! The writer fills the copy that nobody is told of, and tells of it after that. So a value is never torn (a sequence lock over
//! atomic words: Boehm, "Can seqlocks get along with programming language memory models?", 2012), and a writer that is stopped in the
//! middle of one keeps nobody from reading the one before.

use crate::Outbox;
use core::marker::PhantomData;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering, fence};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::Arc;

/// Words of a value: two copies of it and its number fill a cache line.
pub const CELL_WORDS: usize = 3;

/// A reader that finds so often that the value was replaced while it read stays with what it saw last.
const MOST_TRIES: usize = 8;

/// A value that fits [`CELL_WORDS`] words.
pub trait Words: Copy {
    /// To words.
    fn to_words(self) -> [u64; CELL_WORDS];
    /// From words.
    fn from_words(words: &[u64; CELL_WORDS]) -> Self;
}

impl Words for u64 {
    fn to_words(self) -> [u64; CELL_WORDS] {
        [self, 0, 0]
    }
    fn from_words(words: &[u64; CELL_WORDS]) -> u64 {
        words[0]
    }
}

impl Words for [u64; 2] {
    fn to_words(self) -> [u64; CELL_WORDS] {
        [self[0], self[1], 0]
    }
    fn from_words(words: &[u64; CELL_WORDS]) -> [u64; 2] {
        [words[0], words[1]]
    }
}

impl Words for [u64; 3] {
    fn to_words(self) -> [u64; CELL_WORDS] {
        self
    }
    fn from_words(words: &[u64; CELL_WORDS]) -> [u64; 3] {
        *words
    }
}

#[derive(Debug)]
#[repr(align(64))]
struct Line {
    /// Values written after the first one. The latest lies in the copy of the same parity.
    number: AtomicU64,
    copies: [[AtomicU64; CELL_WORDS]; 2],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Line>() == 64, "one cache line");

/// What lies between a writer and its readers, as outboxes see it. Its copies are the same cell.
#[derive(Clone, Debug)]
pub struct Cell(Arc<Line>);

/// What a reader saw last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// How many values were written before it. It only grows.
    pub number: u64,
    /// The value.
    pub words: [u64; CELL_WORDS],
}

/// The writing half. There is one.
#[derive(Debug)]
pub struct CellWriter<T>(Cell, PhantomData<fn(T)>);

/// The reading half. Clone it for more readers.
#[derive(Debug)]
pub struct CellReader<T> {
    cell: Cell,
    seen: Seen,
    value: PhantomData<fn() -> T>,
}

/// A cell with its first value.
#[must_use]
pub fn cell<T: Words>(first: T) -> (CellWriter<T>, CellReader<T>) {
    let words = first.to_words();
    let copy = || words.map(AtomicU64::new);
    let cell = Cell(Arc::new(Line { number: AtomicU64::new(0), copies: [copy(), copy()] }));
    let seen = Seen { number: 0, words };
    (CellWriter(cell.clone(), PhantomData), CellReader { cell, seen, value: PhantomData })
}

impl Cell {
    /// Replaces the value. Never waits. For hosts; a protocol says [`CellWriter::poke`]. Of two writes at one time one may be lost.
    pub fn write(&self, words: [u64; CELL_WORDS]) {
        let number = self.0.number.load(Ordering::Relaxed).wrapping_add(1);
        // Who reads one of the words below sees the number that was told before, and knows that the copy is being replaced.
        fence(Ordering::Release);
        for (word, new) in self.copy(number).iter().zip(words) {
            word.store(new, Ordering::Relaxed);
        }
        self.0.number.store(number, Ordering::Release);
    }

    /// Reads the value, whole; it is never older than what was seen before. Never waits: if it was replaced each time that it was
    /// tried, what was seen before stays. For hosts; a protocol says [`CellReader::peek`].
    pub fn read(&self, seen: &mut Seen) {
        for _ in 0..MOST_TRIES {
            let number = self.0.number.load(Ordering::Acquire);
            let copy = self.copy(number);
            let words = core::array::from_fn(|at| copy[at].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if self.0.number.load(Ordering::Relaxed) == number {
                *seen = Seen { number, words };
                return;
            }
        }
    }

    /// Whether both are the same cell.
    #[must_use]
    pub fn is(&self, other: &Cell) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn copy(&self, number: u64) -> &[AtomicU64; CELL_WORDS] {
        &self.0.copies[usize::from(number & 1 == 1)]
    }
}

impl<T: Words> CellWriter<T> {
    /// Replaces the value. Never waits.
    pub fn poke(&mut self, value: T, out: &mut dyn Outbox) {
        out.poke(&self.0, value.to_words());
    }
}

impl<T: Words> CellReader<T> {
    /// The latest value, whole, or for a while one from shortly before; never one from before what this reader saw last.
    pub fn peek(&mut self, out: &mut dyn Outbox) -> T {
        out.peek(&self.cell, &mut self.seen);
        T::from_words(&self.seen.words)
    }
}

impl<T> Clone for CellReader<T> {
    fn clone(&self) -> Self {
        CellReader { cell: self.cell.clone(), seen: self.seen, value: PhantomData }
    }
}

#[cfg(test)]
#[path = "cell/tests.rs"]
mod tests;
