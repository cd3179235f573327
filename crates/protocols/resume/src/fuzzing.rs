//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{Reply, Word};
use crate::{Requests, Resumed, ResumedConfig};
use quintet_contract::{Effects, Input, Protocol, Snapshot, Time};
use quintet_wire::{Decode, Encode, encode_to_vec};

/// Reads any bytes as what a client says of itself, and as the reply. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn words(data: &[u8]) {
    fn written_again<T: for<'a> Decode<'a> + Encode>(data: &[u8]) {
        if let Ok(word) = T::decode_all(data) {
            assert_eq!(encode_to_vec(&word), data);
        }
    }
    written_again::<Word>(data);
    written_again::<Reply>(data);
}

/// Restores a service and its clients from any bytes. What comes back can be saved and restored again, and goes on.
///
/// # Panics
/// If it is not so: a defect.
pub fn snapshot<P: Snapshot, R: Requests>(data: &[u8], config: &ResumedConfig<P::Config>) {
    let Ok(mut resumed) = Resumed::<P, R>::restore(config, data) else { return };
    let saved = save(&resumed);
    assert_eq!(save(&Resumed::<P, R>::restore(config, &saved).expect("its own bytes")), saved);
    resumed.handle(Time(u64::MAX / 2), Input::Wake, &mut Effects::default());
    assert!(resumed.deadline().is_none_or(|due| due > Time(u64::MAX / 2)), "what is due is done");
}

fn save<P: Snapshot, R: Requests>(resumed: &Resumed<P, R>) -> Vec<u8> {
    let mut bytes = Vec::new();
    resumed.save(&mut bytes);
    bytes
}
