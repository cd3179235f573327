//! The latest value shared by two halves of one protocol: the only sanctioned sharing.
//!
//! One half writes, the other reads; neither waits for the other's `handle`. A sequence lock over atomic words (Boehm,
//! "Can seqlocks get along with programming language memory models?", 2012): no unsafe code, no torn value.

use crate::Outbox;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::Arc;

/// A value that fits a few 64-bit words.
pub trait Words: Copy {
    /// The words.
    type Array: AsRef<[u64]> + AsMut<[u64]> + Default;
    /// To words.
    fn to_words(self) -> Self::Array;
    /// From words.
    fn from_words(words: &Self::Array) -> Self;
}

impl Words for u64 {
    type Array = [u64; 1];
    fn to_words(self) -> [u64; 1] {
        [self]
    }
    fn from_words(words: &[u64; 1]) -> u64 {
        words[0]
    }
}

macro_rules! words_for_arrays {
    ($($n:literal)*) => {$(
        impl Words for [u64; $n] {
            type Array = [u64; $n];
            fn to_words(self) -> [u64; $n] {
                self
            }
            fn from_words(words: &[u64; $n]) -> [u64; $n] {
                *words
            }
        }
    )*};
}
words_for_arrays!(2 3 4 5 6 7 8);

struct Shared {
    /// Odd while a write is under way; grows by two with each.
    version: AtomicU64,
    words: Box<[AtomicU64]>,
}

/// The writing half. There is one.
pub struct CellWriter<T>(Arc<Shared>, PhantomData<fn(T)>);

/// The reading half. Clone it for more readers.
pub struct CellReader<T>(Arc<Shared>, PhantomData<fn() -> T>);

/// A cell with its first value.
#[must_use]
pub fn cell<T: Words>(first: T) -> (CellWriter<T>, CellReader<T>) {
    let words = first.to_words().as_ref().iter().map(|w| AtomicU64::new(*w)).collect();
    let shared = Arc::new(Shared { version: AtomicU64::new(0), words });
    (CellWriter(Arc::clone(&shared), PhantomData), CellReader(shared, PhantomData))
}

impl<T: Words> CellWriter<T> {
    /// Replaces the value. Never waits.
    pub fn poke(&mut self, value: T) {
        let version = self.0.version.load(Ordering::Relaxed);
        self.0.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, new) in self.0.words.iter().zip(value.to_words().as_ref()) {
            word.store(*new, Ordering::Relaxed);
        }
        self.0.version.store(version.wrapping_add(2), Ordering::Release);
    }
}

impl<T: Words> CellReader<T> {
    /// The latest value, whole. Shown to the outbox, so that a recorded run reads the same value again.
    /// Repeats while a write is under way, which takes nanoseconds.
    pub fn peek(&self, out: &mut dyn Outbox) -> T {
        let mut words = self.load();
        out.observe(words.as_mut());
        T::from_words(&words)
    }

    fn load(&self) -> T::Array {
        let mut words = T::Array::default();
        loop {
            let before = self.0.version.load(Ordering::Acquire);
            for (copy, word) in words.as_mut().iter_mut().zip(&self.0.words) {
                *copy = word.load(Ordering::Relaxed);
            }
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.0.version.load(Ordering::Relaxed) == before {
                return words;
            }
            core::hint::spin_loop();
        }
    }
}

impl<T> Clone for CellReader<T> {
    fn clone(&self) -> Self {
        CellReader(Arc::clone(&self.0), PhantomData)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effects;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the two halves run on two threads")]
    fn a_reader_never_sees_a_torn_value() {
        let rounds = if cfg!(miri) { 200 } else { 200_000 };
        let (mut writer, reader) = cell([0u64; 4]);
        let writing = std::thread::spawn(move || (1..=rounds).for_each(|n| writer.poke([n; 4])));
        let mut last = 0;
        while last < rounds {
            let value = reader.peek(&mut Effects::default());
            assert_eq!(value, [value[0]; 4], "torn");
            assert!(value[0] >= last, "went back from {last} to {}", value[0]);
            last = value[0];
        }
        writing.join().expect("the writer does not panic");
    }
}
