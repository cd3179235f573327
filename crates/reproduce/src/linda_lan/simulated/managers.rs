//! A manager of tuples, and an L-Kernel.

use super::messages::{Class, LOOK, Mail, Message, What};
use quintet_contract::{Input, NodeId, Outbox, Protocol, Time};
use std::collections::{BTreeMap, VecDeque};

/// A manager: keeps tuples by their class, and who waits for one.
#[derive(Debug)]
pub(super) struct Manager {
    mail: Mail,
    /// Processes or L-Kernels that are connected to it.
    connections: u32,
    stock: BTreeMap<Class, Vec<usize>>,
    waiting: BTreeMap<Class, VecDeque<Message>>,
    /// To whom what is for a process goes.
    ways: BTreeMap<NodeId, NodeId>,
}

impl Manager {
    /// With these ways to processes.
    pub(super) fn new(mail: Mail, connections: u32, ways: BTreeMap<NodeId, NodeId>) -> Manager {
        Manager { mail, connections, stock: BTreeMap::new(), waiting: BTreeMap::new(), ways }
    }

    /// Puts so many tuples with so many bytes before the simulation begins.
    pub(super) fn stocked(mut self, class: Class, count: usize, bytes: usize) -> Manager {
        self.stock.insert(class, vec![bytes; count]);
        self
    }

    fn serve(&mut self, message: &Message, out: &mut dyn Outbox) {
        out.work(LOOK, self.connections);
        let stock = self.stock.entry(message.class).or_default();
        match message.what {
            What::Out => {
                stock.push(message.bytes);
                self.wake(message.class, out);
            }
            What::In | What::Inp if !stock.is_empty() => {
                let bytes = stock.remove(0);
                self.answer(message, What::Found, bytes, out);
            }
            What::Rd if !stock.is_empty() => {
                let bytes = stock[0];
                self.answer(message, What::Found, bytes, out);
            }
            What::Inp => self.answer(message, What::None, 0, out),
            What::In | What::Rd => self.waiting.entry(message.class).or_default().push_back(*message),
            What::Found | What::None => {}
        }
    }

    /// Gives what came to those who wait for it: to all who read, and to the first who takes.
    fn wake(&mut self, class: Class, out: &mut dyn Outbox) {
        let Some(waiting) = self.waiting.remove(&class) else { return };
        let mut left = VecDeque::new();
        for message in waiting {
            let stock = self.stock.entry(class).or_default();
            if stock.is_empty() {
                left.push_back(message);
                continue;
            }
            let bytes = if message.what == What::In { stock.remove(0) } else { stock[0] };
            self.answer(&message, What::Found, bytes, out);
        }
        self.waiting.insert(class, left);
    }

    fn answer(&self, to: &Message, what: What, bytes: usize, out: &mut dyn Outbox) {
        let Some(way) = self.ways.get(&to.asker) else { return };
        let answer = Message { what, class: to.class, asker: to.asker, bytes: bytes.max(8) };
        self.mail.send(*way, &answer, out);
    }
}

impl Protocol for Manager {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            self.mail.take(from, frame);
            while let Some(message) = self.mail.next(out) {
                self.serve(&message, out);
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// An L-Kernel: passes what its machine's processes ask on to the managers, and the answers back.
#[derive(Debug)]
pub(super) struct Kernel {
    mail: Mail,
    connections: u32,
    managers: Managers,
}

/// Which manager keeps which class: all templates of rows and columns give a value, by which the hash manager finds them; the others are queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Managers {
    pub(super) queue: NodeId,
    pub(super) hash: NodeId,
}

impl Managers {
    pub(super) fn of(&self, class: Class) -> NodeId {
        if matches!(class, Class::Row | Class::Column) { self.hash } else { self.queue }
    }
}

impl Kernel {
    pub(super) fn new(mail: Mail, connections: u32, managers: Managers) -> Kernel {
        Kernel { mail, connections, managers }
    }
}

impl Protocol for Kernel {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        self.mail.take(from, frame);
        while let Some(message) = self.mail.next(out) {
            out.work(LOOK, self.connections);
            let to = if message.is_answer() { message.asker } else { self.managers.of(message.class) };
            self.mail.send(to, &message, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Where a process sends what it asks: its machine's L-Kernel, or the managers themselves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Kernel(NodeId),
    Direct(Managers),
}

impl Way {
    pub(super) fn to(&self, class: Class) -> NodeId {
        match self {
            Way::Kernel(kernel) => *kernel,
            Way::Direct(managers) => managers.of(class),
        }
    }
}
