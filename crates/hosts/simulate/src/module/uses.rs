//! What activations take of a pool, and the frames by which they do: they go on when it is done with them, and others of their module
//! meanwhile.

use crate::distribution::Distribution;
use crate::picos::Picos;
use quintet_contract::{Frame, Kind, Random};
use quintet_wire::registry::MODELS;

/// To a pool, and back when that is done. Token: the activation's number; body: [`Drawn`].
pub(super) const USE: Kind = MODELS.kind(8);

/// What one use of a pool takes.
#[derive(Clone, Debug)]
pub struct Usage {
    /// In seconds.
    pub time: Distribution,
    /// What each use takes in addition.
    pub overhead: Picos,
    /// Bytes, rounded.
    pub bytes: Distribution,
    /// What each of them takes.
    pub seconds_per_byte: f64,
    /// Which server, of how many: the number drawn, rounded down, divided by theirs leaves its number; none: whichever is free.
    pub server: Option<(Distribution, u16)>,
}

/// One use as it was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drawn {
    pub(crate) bytes: u64,
    pub(crate) work: Picos,
    /// The server that was chosen.
    pub(crate) server: Option<u16>,
}

impl Usage {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "`as` saturates; what is drawn is not negative, and a picosecond is less than is lost"
    )]
    pub(super) fn draw(&self, random: &mut Random) -> Drawn {
        let time = self.time.sample(random);
        let bytes = self.bytes.sample(random).round() as u64;
        let work = self.overhead + Picos::from_seconds(time + bytes as f64 * self.seconds_per_byte);
        let server = self.server.as_ref().map(|(number, servers)| {
            let number = number.sample(random) as u64 % u64::from(*servers).max(1);
            u16::try_from(number).unwrap_or(0)
        });
        Drawn { bytes, work, server }
    }
}

impl Drawn {
    const NO_SERVER: u64 = u64::MAX;

    pub(super) fn to_body(self) -> [u8; 24] {
        let server = self.server.map_or(Self::NO_SERVER, u64::from);
        let mut body = [0; 24];
        for (place, number) in body.as_chunks_mut::<8>().0.iter_mut().zip([self.bytes, self.work.0, server]) {
            *place = number.to_le_bytes();
        }
        body
    }
}

/// Whether a frame goes to a pool, or comes back from one.
pub(crate) fn is_use(kind: Kind) -> bool {
    kind == USE
}

/// What a frame asks of a pool; none: it asks nothing of one.
pub(crate) fn use_of(frame: &Frame<'_>) -> Option<Drawn> {
    let body = frame.body.as_array::<24>().filter(|_| is_use(frame.kind))?;
    let number = |place: usize| Some(u64::from_le_bytes(*body.as_chunks::<8>().0.get(place)?));
    let server = u16::try_from(number(2)?).ok();
    Some(Drawn { bytes: number(0)?, work: Picos(number(1)?), server })
}
