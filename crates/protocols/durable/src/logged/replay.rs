//! Gives the protocol again what it was given.

use super::held::Held;
use super::{LoggedConfig, State, seeded};
use crate::record::{Kept, Life, Record};
use quintet_contract::{DownCause, Input, Outbox, PeerChange, Snapshot, Time};
use quintet_wire::{Decode, Encode, encode_to_vec};

/// What the records so far have come to.
#[derive(Debug)]
pub(super) struct Replay<P: Snapshot> {
    /// The number of the life that wrote them, and the log's time.
    life: u64,
    time: Time,
    /// What the protocol did then.
    behaviour: u32,
    /// What the protocol was made with, as it is kept; none before the first record.
    config: Option<Vec<u8>>,
    /// Why the log is not this program's to read, if it is not.
    pub(super) stranger: Option<String>,
    /// The snapshot, while its parts come.
    parts: Vec<u8>,
    state: Option<State<P>>,
    inputs: u64,
    /// What the protocol sends, which has gone long since.
    sent: Held,
}

/// The protocol where the log ends, and nobody connected.
pub(super) struct Ended<P> {
    pub(super) life: u64,
    pub(super) time: Time,
    pub(super) state: State<P>,
    /// The same as bytes.
    pub(super) saved: Vec<u8>,
    pub(super) inputs: u64,
}

impl<P: Snapshot> Default for Replay<P> {
    fn default() -> Self {
        Replay {
            life: 0,
            time: Time::ZERO,
            behaviour: P::BEHAVIOUR,
            config: None,
            stranger: None,
            parts: Vec::new(),
            state: None,
            inputs: 0,
            sent: Held::default(),
        }
    }
}

impl<P: Snapshot> Replay<P>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    /// Takes the next record.
    ///
    /// # Errors
    /// Why it cannot be the next one.
    pub(super) fn take(
        &mut self,
        config: &LoggedConfig,
        record: &[u8],
        out: &mut dyn Outbox,
    ) -> Result<(), String> {
        match (Record::decode_all(record).map_err(|error| error.to_string())?, &mut self.state) {
            (Record::Life(life), None) if self.config.is_none() => self.begin(config, &life),
            (Record::Snapshot(is_last, part), None) if self.config.is_some() => {
                self.parts.extend_from_slice(part);
                if is_last { self.restore() } else { Ok(()) }
            }
            (Record::Input(time, kept), Some(_)) => self.give(config, time, &kept, out),
            (Record::Life(_), _) => Err("a second life in one file".to_owned()),
            (Record::Snapshot(..), _) => Err("a part of a snapshot where there should be none".to_owned()),
            (Record::Input(..), None) => Err("an input before the snapshot".to_owned()),
        }
    }

    fn begin(&mut self, config: &LoggedConfig, life: &Life<'_>) -> Result<(), String> {
        let (own, other) = ((config.cluster, config.me.port.0), (life.cluster, life.port));
        if own != other {
            let text = format!(
                "the log is that of port {} of cluster {}, not of port {} of cluster {}",
                other.1, other.0, own.1, own.0
            );
            self.stranger = Some(text.clone());
            return Err(text);
        }
        (self.life, self.time, self.behaviour) = (life.number, life.time, life.behaviour);
        self.config = Some(life.config.to_vec());
        Ok(())
    }

    /// What it was given then came to a state to which it would not come now.
    fn of_another_behaviour(&mut self) -> String {
        let text = format!(
            "the log holds requests that a program handled which does otherwise (its behaviour is {}, this program's {}): start that program once \
             more with this log, where no client is, and end it; then the log holds nothing but the state, which this program reads",
            self.behaviour,
            P::BEHAVIOUR
        );
        self.stranger = Some(text.clone());
        text
    }

    fn restore(&mut self) -> Result<(), String> {
        let config = self.config.as_deref().unwrap_or_default();
        let config = P::Config::decode_all(config).map_err(|error| error.to_string())?;
        self.state = Some(State::restore(&config, &core::mem::take(&mut self.parts))?);
        Ok(())
    }

    fn give(
        &mut self,
        config: &LoggedConfig,
        time: Time,
        kept: &Kept<'_>,
        out: &mut dyn Outbox,
    ) -> Result<(), String> {
        if self.behaviour != P::BEHAVIOUR {
            return Err(self.of_another_behaviour());
        }
        let Some(state) = &mut self.state else { return Err("an input before the snapshot".to_owned()) };
        if time < self.time {
            return Err(format!("an input at {time}, after one at {}", self.time));
        }
        self.time = time;
        self.inputs += 1;
        kept.give(|input| state.give(config.me, time, input, &mut self.sent, out));
        self.sent.clear();
        Ok(())
    }

    /// All was taken: whoever was connected is not any more, and the protocol goes on with this configuration.
    ///
    /// # Errors
    /// The log ends where it cannot.
    pub(super) fn end(
        mut self,
        config: &LoggedConfig,
        protocol: &P::Config,
        make: fn(&P::Config) -> P,
        out: &mut dyn Outbox,
    ) -> Result<Ended<P>, String> {
        let is_known = self.config.as_ref().is_none_or(|config| *config == encode_to_vec(protocol));
        let mut state = match self.state.take() {
            Some(state) => state,
            None if self.config.is_none() => {
                let mut state = State::new(make(protocol));
                state.give(config.me, self.time, Input::Started, &mut self.sent, out);
                state
            }
            None => return Err("it ends within the snapshot".to_owned()),
        };
        if !seeded!(config, HoldersKept) {
            for address in state.known() {
                let down = PeerChange::Down(DownCause::Died);
                state.give(config.me, self.time, Input::Peer(address, &down), &mut self.sent, out);
            }
        }
        let saved = state.save();
        if !is_known {
            state = State::restore(protocol, &saved)?;
        }
        let Replay { life, time, inputs, .. } = self;
        Ok(Ended { life, time, state, saved, inputs })
    }
}
