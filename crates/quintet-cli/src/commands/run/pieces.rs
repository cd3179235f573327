//! What a child says, piece by piece.

use std::io::{ErrorKind, Read};

/// The longest piece, in bytes. A longer line comes in several.
const LONGEST: usize = 64 << 10;

/// Makes pieces of what comes, wherever that begins and ends: lines with their ends, and what stands before a carriage
/// return, as a progress bar's states do. Only the last piece, and a longest one, may be without an end.
#[derive(Default)]
pub(super) struct Pieces {
    waiting: Vec<u8>,
}

impl Pieces {
    /// Gives `tell` the pieces that are whole with these bytes.
    pub(super) fn add(&mut self, bytes: &[u8], mut tell: impl FnMut(&[u8])) {
        self.waiting.extend(bytes);
        let mut told = 0;
        while let Some(length) = first_piece(&self.waiting[told..]) {
            tell(&self.waiting[told..told + length]);
            told += length;
        }
        self.waiting.drain(..told);
    }

    /// No more comes.
    pub(super) fn finish(self, mut tell: impl FnMut(&[u8])) {
        if !self.waiting.is_empty() {
            tell(&self.waiting);
        }
    }
}

/// Gives `tell` what comes out of `pipe` until it is closed, piece by piece.
pub(super) fn read_pieces(mut pipe: impl Read, mut tell: impl FnMut(&[u8])) {
    let mut room = vec![0; LONGEST];
    let mut pieces = Pieces::default();
    loop {
        match pipe.read(&mut room) {
            Ok(0) => break,
            Ok(count) => pieces.add(&room[..count], &mut tell),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    pieces.finish(tell);
}

/// How long the first piece is, if it is whole.
fn first_piece(said: &[u8]) -> Option<usize> {
    let is_end = |(place, byte): (usize, &u8)| match byte {
        b'\n' => true,
        // Before a line feed it is a part of the line's end.
        b'\r' => said.get(place + 1).is_some_and(|next| *next != b'\n'),
        _ => false,
    };
    let end = said.iter().enumerate().take(LONGEST).position(is_end).map(|place| place + 1);
    end.or_else(|| (said.len() >= LONGEST).then_some(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(room.len());
            self.0.read(&mut room[..count])
        }
    }

    fn pieces(said: &[u8], at_a_time: usize) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        read_pieces(Slow(said, at_a_time), |piece| pieces.push(piece.to_vec()));
        pieces
    }

    #[test]
    fn lines_and_states_of_a_progress_bar_come_one_by_one() {
        for at_a_time in 1..20 {
            let expected: [&[u8]; 6] = [b"a\n", b"\n", b"b\r\n", b"1 %\r", b"2 %\r", b"rest"];
            assert_eq!(pieces(&expected.concat(), at_a_time), expected, "{at_a_time}");
        }
    }

    #[test]
    fn a_line_without_an_end_comes_in_pieces_that_are_bounded() {
        let said = [vec![b'x'; 2 * LONGEST + 5], b"\n".to_vec()].concat();
        for at_a_time in [1000, usize::MAX] {
            let lengths: Vec<usize> = pieces(&said, at_a_time).iter().map(Vec::len).collect();
            assert_eq!(lengths, [LONGEST, LONGEST, 6]);
        }
    }
}
