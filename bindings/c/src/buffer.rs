//! quintet_buffer - memory for large data that is copied nowhere
//!
//! Data in a buffer go to another process over shared memory without a copy: write them into a buffer, add the buffer to a tuple
//! (`quintet_tuple_add_buffer`) and put that. What a tuple has received is seen where it lies; `quintet_tuple_get_buffer` keeps
//! it when the tuple is freed.
//!
//! Once it was added to a tuple a buffer can only be read. What is written there nevertheless, by a pointer from before, all who have
//! the tuple may see.
//!
//! Any threads may use a buffer at once, if one at most writes there.

use crate::boundary::{Tagged, free, give, guarded, handle, misuse, place, value};
use crate::error::quintet_status;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Buffer, Bytes, Code, Error};
use quintet_contract::limits::MAX_BULK_BYTES;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory for large data.
pub struct quintet_buffer(Tagged<Mutex<Memory>>);
handle!(quintet_buffer, Mutex<Memory>, b"buff", "buffer");

/// Who may write there.
pub enum Memory {
    /// The program, in memory that can be lent to other processes.
    Own(Buffer),
    /// The program, in ordinary memory.
    Ordinary(Vec<u64>, usize),
    /// Nobody any more.
    Shared(Bytes),
}

/// Ordinary memory of which not all counts.
struct Part(Vec<u64>, usize);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        bytes_of(&self.0, self.1)
    }
}

fn bytes_of(words: &[u64], length: usize) -> &[u8] {
    assert!(length <= size_of_val(words));
    // SAFETY: as many bytes are there, was asserted; any bytes are a u8.
    unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), length) }
}

/// Data that the space gave, as a buffer for C.
pub(crate) fn of_data(data: Bytes) -> *mut quintet_buffer {
    give(Mutex::new(Memory::Shared(data)))
}

/// The data of a buffer, to which nobody writes from now on.
///
/// # Errors
/// `BadValue` for what is no buffer.
pub(crate) fn shared(buffer: Option<&quintet_buffer>) -> Result<Bytes, Error> {
    let mut memory = lock(value(buffer)?);
    let before = std::mem::replace(&mut *memory, Memory::Shared(Bytes::new()));
    let data = match before {
        Memory::Own(buffer) => buffer.freeze(),
        Memory::Ordinary(words, length) => Bytes::from_owner(Part(words, length)),
        Memory::Shared(data) => data,
    };
    *memory = Memory::Shared(data.clone());
    Ok(data)
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a buffer of `length` bytes, of any content, aligned for every scalar type. From 4 KiB on it lies in memory that can be lent to
/// other processes, unless the system has too few descriptors.
///
/// Fails with `QUINTET_TOO_LARGE` above 2 GiB, `QUINTET_RESOURCE` if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_buffer_new(
    length: usize,
    buffer: Option<&mut MaybeUninit<*mut quintet_buffer>>,
) -> quintet_status {
    guarded(|| {
        let buffer = place(buffer, "buffer", null_mut())?;
        if length > MAX_BULK_BYTES {
            let text = format!("a buffer of {length} bytes, above the limit of {MAX_BULK_BYTES}");
            return Err(Error::new(Code::TooLarge, text));
        }
        *buffer = give(Mutex::new(match Buffer::new(length) {
            Some(own) => Memory::Own(own),
            None => ordinary(length)?,
        }));
        Ok(())
    })
}

/// # Errors
/// `Resource`.
fn ordinary(length: usize) -> Result<Memory, Error> {
    let mut words = Vec::new();
    let count = length.div_ceil(size_of::<u64>());
    words.try_reserve_exact(count).map_err(|error| Error::new(Code::Resource, error.to_string()))?;
    words.resize(count, 0);
    Ok(Memory::Ordinary(words, length))
}

/// Where to write: until the buffer is added to a tuple or freed.
///
/// Fails with `QUINTET_BAD_VALUE` for a buffer that can only be read.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_buffer_write(
    buffer: Option<&quintet_buffer>,
    data: Option<&mut MaybeUninit<*mut c_void>>,
) -> quintet_status {
    guarded(|| {
        let data = place(data, "data", null_mut())?;
        *data = match &mut *lock(value(buffer)?) {
            Memory::Own(buffer) => buffer.as_mut_ptr().cast(),
            Memory::Ordinary(words, _) => words.as_mut_ptr().cast(),
            Memory::Shared(_) => {
                return Err(misuse(
                    "this buffer can only be read: it was added to a tuple, or came with one",
                ));
            }
        };
        Ok(())
    })
}

/// Lends the data, to be read until the buffer is freed. Data that the space gave may lie unaligned.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_buffer_read(
    buffer: Option<&quintet_buffer>,
    data: Option<&mut MaybeUninit<*const c_void>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let data = place(data, "data", null())?;
        let length = place(length, "length", 0)?;
        let memory = lock(value(buffer)?);
        let bytes: &[u8] = match &*memory {
            Memory::Own(buffer) => buffer,
            Memory::Ordinary(words, length) => bytes_of(words, *length),
            Memory::Shared(data) => data,
        };
        (*data, *length) = (bytes.as_ptr().cast(), bytes.len());
        Ok(())
    })
}

/// Frees a buffer; tuples that share its data keep them. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_buffer_free(buffer: Option<NonNull<quintet_buffer>>) {
    free(buffer);
}
