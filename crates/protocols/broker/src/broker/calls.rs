//! Calls that are not done with.

use crate::codec::Place;
use crate::limits::CALL_BYTES;
use bytes::Bytes;
use quintet_contract::{Address, Time, Token};
use std::collections::BTreeMap;

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    /// Who waits for the reply. None: it is one-way, or its caller waits no more.
    pub(super) caller: Option<(Address, Token)>,
    pub(super) place: Place,
    pub(super) is_one_way: bool,
    pub(super) end: Option<Time>,
    /// Kept until it is done with, as who was given it may give it back.
    pub(super) payload: Bytes,
    /// Which handler was given it, and whose it is; none: it waits.
    pub(super) given: Option<(u64, Address)>,
}

impl Call {
    /// What it counts for as long as it is kept.
    pub(super) fn bytes(&self) -> u64 {
        CALL_BYTES + self.payload.len() as u64
    }
}

/// All of them, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Calls {
    list: BTreeMap<u64, Call>,
    bytes: u64,
}

impl Calls {
    /// What they count together.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn add(&mut self, number: u64, call: Call) {
        self.bytes += call.bytes();
        self.list.insert(number, call);
    }

    pub(super) fn get(&self, number: u64) -> Option<&Call> {
        self.list.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Call> {
        self.list.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Call> {
        let call = self.list.remove(&number)?;
        self.bytes -= call.bytes();
        Some(call)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Call)> {
        self.list.iter().map(|(number, call)| (*number, call))
    }
}
