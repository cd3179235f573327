//! A number that sums up a run.

use crate::arrival::{Arrival, News};
use crate::picos::Picos;
use quintet_contract::{Address, PeerChange};

/// Differs, but for one chance in 2^64, when anything about two runs differed: times, addresses or bytes.
#[derive(Default)]
pub(crate) struct Digest(pub(crate) u64);

impl Digest {
    pub(crate) fn add(&mut self, now: Picos, to: Address, arrival: &Arrival) {
        self.mix(now.0);
        self.mix(u64::from(to.to_bits()));
        match arrival {
            Arrival::Started => self.mix(1),
            Arrival::Wake => self.mix(2),
            Arrival::News(news) => match **news {
                News::Writable(peer) => self.mix(3 | u64::from(peer.to_bits()) << 8),
                News::Peer(peer, PeerChange::Up { .. }) => self.mix(4 | u64::from(peer.to_bits()) << 8),
                News::Peer(peer, PeerChange::Down(_)) => self.mix(5 | u64::from(peer.to_bits()) << 8),
            },
            Arrival::Frame(parcel) => {
                self.mix(6 | u64::from(parcel.label.from.to_bits()) << 8 | u64::from(parcel.kind.0) << 40);
                self.mix(parcel.token.0);
                self.mix_bytes(parcel.body());
                self.mix_bytes(&parcel.bulk);
            }
        }
    }

    /// A call of the program that drives the run.
    pub(crate) fn add_call(&mut self, now: Picos, number: u64) {
        self.mix(now.0);
        self.mix(number);
    }

    fn mix(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn mix_bytes(&mut self, bytes: &[u8]) {
        self.mix(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word));
        }
    }
}
