//! A protocol and, when the run is recorded, its recorder.

use crate::recorder::{InstanceRecorder, Recorder};
use quintet_contract::{Address, Frame, Input, Meter, Outbox, Protocol, Time};

/// A protocol as a live host holds it.
pub struct Instance {
    protocol: Box<dyn Protocol + Send>,
    recorder: Option<InstanceRecorder>,
}

impl Instance {
    /// A protocol that is not recorded.
    #[must_use]
    pub fn new(protocol: impl Protocol + Send + 'static) -> Self {
        Instance { protocol: Box::new(protocol), recorder: None }
    }

    /// Records everything from the first input on. `name` and `config` tell a replay how to make the protocol again.
    #[must_use]
    pub fn recorded(self, recorder: &Recorder, at: Address, name: &str, config: &[u8]) -> Self {
        Instance { recorder: Some(recorder.instance(at, name, config)), ..self }
    }

    pub(crate) fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match &self.recorder {
            Some(recorder) => recorder.handle(&mut *self.protocol, now, input, out),
            None => self.protocol.handle(now, input, out),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.protocol.deadline()
    }

    pub(crate) fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        self.protocol.is_resumed_by(from, frame)
    }

    pub(crate) fn measure(&self, meter: &mut Meter<'_>) {
        self.protocol.measure(meter);
    }
}
