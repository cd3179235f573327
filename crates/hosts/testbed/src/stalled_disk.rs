//! A disk that stands still.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Something to write to that takes nothing, and lets its writer wait, until it goes on. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct StalledDisk(Arc<Disk>);

#[derive(Debug, Default)]
struct Disk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    goes_on: bool,
    taken: Vec<u8>,
}

impl StalledDisk {
    /// From now on it takes everything.
    pub fn go_on(&self) {
        self.lock().goes_on = true;
        self.0.changed.notify_all();
    }

    /// What was written to it.
    #[must_use]
    pub fn taken(&self) -> Vec<u8> {
        self.lock().taken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for StalledDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let waited = self.0.changed.wait_while(self.lock(), |state| !state.goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).taken.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
