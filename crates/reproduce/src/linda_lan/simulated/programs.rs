//! jmatrix and jblock, operation by operation.

use super::managers::Way;
use super::messages::{BEGIN, Class, MULTIPLY, Mail, Message, What};
use quintet_contract::{Frame, Input, NodeId, Outbox, Protocol, Time};

/// A process of a program: what it has asked last, and of whom.
#[derive(Debug)]
pub(super) struct Process {
    mail: Mail,
    here: NodeId,
    way: Way,
    part: Part,
    /// When it began and ended.
    pub(super) began: Option<Time>,
    pub(super) ended: Option<Time>,
    /// When each block had come back.
    pub(super) moved: Vec<Time>,
}

/// What it does.
#[derive(Debug)]
pub(super) enum Part {
    /// Multiplies rows and columns of so many elements.
    Worker { dimension: u32 },
    /// Says how large the matrices are, and takes so many results.
    Matrix { left: u32 },
    /// Puts blocks, each larger by a step, and takes them.
    Blocks { at: u32, count: u32, step: usize },
}

impl Process {
    pub(super) fn new(mail: Mail, here: NodeId, way: Way, part: Part) -> Process {
        Process { mail, here, way, part, began: None, ended: None, moved: Vec::new() }
    }

    fn ask(&self, what: What, class: Class, fields: usize, out: &mut dyn Outbox) {
        self.tell(&Message::new(what, class, self.here, fields), out);
    }

    fn tell(&self, message: &Message, out: &mut dyn Outbox) {
        self.mail.send(self.way.to(message.class), message, out);
    }

    fn begin(&mut self, now: Time, out: &mut dyn Outbox) {
        self.began = Some(now);
        match self.part {
            Part::Worker { .. } => self.ask(What::Rd, Class::Dimension, 1, out),
            Part::Matrix { .. } => {
                self.ask(What::Out, Class::Dimension, 1, out);
                self.ask(What::In, Class::Result, 1, out);
            }
            Part::Blocks { at, step, .. } => self.move_block(at, step, out),
        }
    }

    fn move_block(&self, at: u32, step: usize, out: &mut dyn Outbox) {
        self.tell(&Message::new(What::Out, Class::Block, self.here, 1).with(at as usize * step), out);
        self.ask(What::In, Class::Block, 1, out);
    }

    fn go_on(&mut self, now: Time, answer: &Message, out: &mut dyn Outbox) {
        match &mut self.part {
            Part::Worker { dimension } => {
                let dimension = *dimension;
                let next = match answer.class {
                    Class::Task if answer.what == What::None => {
                        self.ended = Some(now);
                        return;
                    }
                    Class::Task => Class::Row,
                    Class::Row => Class::Column,
                    _ => Class::Task,
                };
                if answer.class == Class::Column {
                    out.work(MULTIPLY, dimension);
                    self.ask(What::Out, Class::Result, 4, out);
                }
                match next {
                    Class::Task => self.ask(What::Inp, next, 1, out),
                    _ => self.ask(What::Rd, next, 2, out),
                }
            }
            Part::Matrix { left } => {
                *left -= 1;
                if *left == 0 {
                    self.ended = Some(now);
                } else {
                    self.ask(What::In, Class::Result, 1, out);
                }
            }
            Part::Blocks { at, count, step } => {
                *at += 1;
                self.moved.push(now);
                let (next, step) = (*at, *step);
                if next > *count {
                    self.ended = Some(now);
                } else {
                    self.move_block(next, step, out);
                }
            }
        }
    }
}

impl Protocol for Process {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, Frame { kind: BEGIN, .. }) => self.begin(now, out),
            Input::Frame(from, frame) => {
                self.mail.take(from, frame);
                while let Some(message) = self.mail.next(out) {
                    self.go_on(now, &message, out);
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
