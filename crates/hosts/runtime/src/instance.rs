//! A protocol and, when the run is recorded, its recorder.

use crate::histograms::Histograms;
use crate::recorder::{InstanceRecorder, Recorder};
use crate::timed::Timed;
use crate::traced::{KindNames, Traced};
use crate::tracer::Tracer;
use quintet_contract::{Address, Frame, Input, Meter, Outbox, Protocol, Time};

/// A protocol as a live host holds it.
pub struct Instance {
    protocol: Box<dyn Protocol + Send>,
    recorder: Option<InstanceRecorder>,
    /// Apart: most instances have none.
    traced: Option<Box<Traced>>,
    timed: Option<Box<Timed>>,
}

impl Instance {
    /// A protocol that is not recorded.
    #[must_use]
    pub fn new(protocol: impl Protocol + Send + 'static) -> Self {
        Instance { protocol: Box::new(protocol), recorder: None, traced: None, timed: None }
    }

    /// Records everything from the first input on. `name` and `config` tell a replay how to make the protocol again.
    #[must_use]
    pub fn recorded(self, recorder: &Recorder, at: Address, name: &str, config: &[u8]) -> Self {
        Instance { recorder: Some(recorder.instance(at, name, config)), ..self }
    }

    /// Shows in the process's part of a trace what it is given and does. `at`: its own address.
    #[must_use]
    pub fn traced(self, tracer: &Tracer, at: Address, names: KindNames) -> Self {
        Instance { traced: Some(Box::new(Traced::new(tracer.clone(), at, names))), ..self }
    }

    /// Keeps how long operations of the node's callers take.
    #[must_use]
    pub fn timed(self, histograms: &Histograms, names: KindNames) -> Self {
        Instance { timed: Some(Box::new(Timed::new(histograms.clone(), names))), ..self }
    }

    pub(crate) fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Instance { protocol, recorder, traced, timed } = self;
        let mut handle = |out: &mut dyn Outbox| match recorder {
            Some(recorder) => recorder.handle(&mut **protocol, now, input, out),
            None => protocol.handle(now, input, out),
        };
        let handle = |out: &mut dyn Outbox| match traced {
            Some(traced) => traced.handle(input, out, handle),
            None => handle(out),
        };
        match timed {
            Some(timed) => timed.handle(input, out, handle),
            None => handle(out),
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
