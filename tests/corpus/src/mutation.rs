//! Damaged inputs, the same from the same seed.

use quintet_contract::Random;

/// Bytes of an input at most; a longer one only repeats itself.
const LONGEST: usize = 4096;
/// Numbers at which checks tend to be wrong.
const EDGES: [u8; 8] = [0, 1, 0x1f, 0x20, 0x7f, 0x80, 0xfe, 0xff];

/// Makes mutations.
#[derive(Debug)]
pub struct Mutator(Random);

impl Mutator {
    /// The mutations of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Mutator {
        Mutator(Random::new(seed, 0))
    }

    /// `input` with one to four changes; `other` lends it bytes.
    pub fn mutate(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.0.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.index(bytes.len());
        match self.0.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.0.below(8),
            1 if at < bytes.len() => bytes[at] = EDGES[self.index(EDGES.len())],
            2 => bytes.truncate(at),
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 => {
                let piece = self.piece(bytes);
                bytes.splice(at..at, piece);
            }
            _ => {
                let piece = self.piece(other);
                bytes.splice(at..at, piece);
            }
        }
    }

    fn piece(&mut self, of: &[u8]) -> Vec<u8> {
        let start = self.index(of.len());
        let length = self.index(of.len() - start + 1);
        of[start..start + length].to_vec()
    }

    /// Below `bound`; 0 if that is 0.
    fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).expect("below a usize")
    }
}
