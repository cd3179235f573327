//! The state of a program, as it is given to a member that comes back, and as one that comes back gets it.

use super::host::Core;
use crate::{Code, Error};
use quintet_contract::{Bytes, OwnedFrame, Token};
use quintet_isotach::View;
use quintet_isotach::codec::{PROGRAM_STATE, ProgramState};
use quintet_isotach::limits::{MAX_PROGRAM_STATE_BYTES, MAX_STATE_PIECE_BYTES};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};

/// Gives the state that the program has.
type Give = Box<dyn FnMut() -> Result<Vec<u8>, Error> + Send>;
/// Takes one in place of what the program begins with.
type Take = Box<dyn FnMut(&[u8]) -> Result<(), Error> + Send>;

/// What a program does about its state.
#[derive(Default)]
pub(super) struct State {
    ways: Option<(Give, Take)>,
    /// What has come of another one's.
    came: Vec<u8>,
}

impl State {
    /// False if that was said before.
    pub(super) fn set(&mut self, give: Give, take: Take) -> bool {
        self.ways.replace((give, take)).is_none()
    }

    /// Gives the member's node the state that the program has now, for who comes back with this view.
    ///
    /// # Errors
    /// [`Code::TooLarge`]: there is too much of it. The program's own.
    pub(super) fn give(&mut self, core: &Core, view: View) -> Result<(), Error> {
        let bytes = self.ways.as_mut().map_or_else(|| Ok(Vec::new()), |(give, _)| give())?;
        if bytes.len() > MAX_PROGRAM_STATE_BYTES {
            let text = format!(
                "the state of the program has {} bytes, and may have {MAX_PROGRAM_STATE_BYTES}: this member has left",
                bytes.len()
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        let mut pieces = bytes.chunks(MAX_STATE_PIECE_BYTES).peekable();
        loop {
            let piece = pieces.next().unwrap_or_default();
            let is_complete = pieces.peek().is_none();
            let body = encode_to_vec(&ProgramState { view, is_complete, bytes: piece }).into();
            let frame = OwnedFrame { kind: PROGRAM_STATE, token: Token(0), body, bulk: Bytes::new() };
            core.node.send(PORT_CALLERS, PORT_SESSION, frame);
            if is_complete {
                return Ok(());
            }
        }
    }

    /// A piece of another one's state, which the protocol bounds.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there is some, and the program takes none. The program's own.
    pub(super) fn take(&mut self, piece: &ProgramState<'_>) -> Result<(), Error> {
        self.came.extend_from_slice(piece.bytes);
        if !piece.is_complete {
            return Ok(());
        }
        let came = core::mem::take(&mut self.came);
        match &mut self.ways {
            Some((_, take)) => take(&came),
            None if came.is_empty() => Ok(()),
            None => {
                let text = format!(
                    "the others have given the state of their programs, {} bytes, and this one takes none: say `state` before it comes back",
                    came.len()
                );
                Err(Error::new(Code::BadValue, text))
            }
        }
    }
}
