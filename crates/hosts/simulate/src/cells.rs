//! Cells in a run: when a value is written, and how late it may be seen.

use crate::link::Luck;
use crate::picos::Picos;
use quintet_contract::{CELL_WORDS, Cell, Seen, Span};
use std::collections::VecDeque;

/// How cells behave. The default is one memory: every read sees the latest value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellModel {
    /// A value may be read until so long after it was replaced: the two halves run on two processors, of one node or of two. Which they
    /// run on is not looked at. What one reader reads never goes back.
    pub seen_within: Span,
}

/// All cells that values may be read late from.
#[derive(Debug)]
pub(crate) struct Cells {
    model: CellModel,
    known: Vec<Known>,
    /// Decides what is read.
    luck: Luck,
}

/// A cell and what may be read from it.
#[derive(Debug)]
struct Known {
    cell: Cell,
    /// The oldest first.
    values: VecDeque<Value>,
}

#[derive(Clone, Copy, Debug)]
struct Value {
    seen: Seen,
    written: Picos,
}

impl Cells {
    pub(crate) fn new(model: CellModel, luck: Luck) -> Cells {
        Cells { model, known: Vec::new(), luck }
    }

    /// A value is written at `now`.
    pub(crate) fn write(&mut self, now: Picos, cell: &Cell, words: [u64; CELL_WORDS]) {
        if self.model.seen_within == Span::ZERO {
            return cell.write(words);
        }
        let at = self.known.iter().position(|known| known.cell.is(cell)).unwrap_or_else(|| {
            let first = Value { seen: latest(cell), written: Picos::ZERO };
            self.known.push(Known { cell: cell.clone(), values: VecDeque::from([first]) });
            self.known.len() - 1
        });
        let values = &mut self.known[at].values;
        forget(values, now, self.model.seen_within);
        cell.write(words);
        values.push_back(Value { seen: latest(cell), written: now });
    }

    /// A value is read at `now`, by a reader that has seen this before.
    pub(crate) fn read(&mut self, now: Picos, cell: &Cell, seen: &mut Seen) {
        let Some(known) = self.known.iter_mut().find(|known| known.cell.is(cell)) else {
            return cell.read(seen);
        };
        forget(&mut known.values, now, self.model.seen_within);
        let possible = known.values.iter().rev().take_while(|value| value.seen.number >= seen.number);
        let count = possible.clone().count();
        self.luck.begin();
        let late = usize::try_from(self.luck.below(count as u64)).unwrap_or(0);
        *seen = possible.map(|value| value.seen).nth(late).unwrap_or_else(|| latest(cell));
    }
}

fn latest(cell: &Cell) -> Seen {
    let mut seen = Seen { number: 0, words: [0; CELL_WORDS] };
    cell.read(&mut seen);
    seen
}

/// Forgets what was replaced too long ago to be read.
fn forget(values: &mut VecDeque<Value>, now: Picos, within: Span) {
    while values.get(1).is_some_and(|next| next.written.after(within) <= now) {
        values.pop_front();
    }
}
