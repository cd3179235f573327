//! What a module does, step by step.

use crate::quantity::{Draw, Quantity};
use quintet_simulate::device::Class;

/// One step of what a module does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Executes an instruction of the processor.
    Execute {
        /// Its name.
        instruction: String,
        /// How often.
        times: Draw,
    },
    /// Uses a pool, and goes on when that is done.
    Use {
        /// Its name.
        pool: String,
        /// How long a server works on it.
        time: Draw,
        /// What a server works on at the pool's rate in addition.
        bytes: Draw,
        /// The number that chooses the server; none: whichever is free.
        key: Option<Draw>,
        /// How often.
        times: Quantity,
    },
    /// Sends a message.
    Send {
        /// Its name.
        message: String,
        /// The module that waits for it.
        to: String,
        /// Its length.
        bytes: Draw,
        /// The device or network that carries it; none within a processor, and where only one joins the two.
        through: Option<String>,
        /// The links of a network over which it goes, in order; none: by the way of the least cost.
        route: Vec<String>,
        /// How often.
        times: Quantity,
        /// How urgent it is to a token ring.
        class: Class,
    },
    /// Sends a message, and waits for the reply. Others use the processor meanwhile.
    Ask {
        /// Its name.
        message: String,
        /// The module that waits for it.
        to: String,
        /// Its length.
        bytes: Draw,
        /// The device or network that carries it; none within a processor, and where only one joins the two.
        through: Option<String>,
        /// The links of a network over which it goes, in order; none: by the way of the least cost.
        route: Vec<String>,
        /// How urgent it is to a token ring.
        class: Class,
        /// How long it waits at most; none: as long as it takes.
        timeout: Option<Draw>,
        /// What it does if no reply came by then.
        late: Vec<Action>,
    },
    /// Answers whoever asked for what this activation does, over however many modules.
    Reply {
        /// The answer's name, for those who read the model.
        message: String,
        /// Its length.
        bytes: Draw,
        /// The device that carries it; none: the way by which the question came, if it came straight.
        through: Option<String>,
        /// How urgent it is to a token ring.
        class: Class,
    },
    /// Waits for a message. Others use the processor meanwhile.
    Wait {
        /// Its name.
        message: String,
        /// How long it waits at most; none: as long as it takes.
        timeout: Option<Draw>,
        /// What it does if none came by then.
        late: Vec<Action>,
    },
    /// Waits for a time. Others use the processor meanwhile.
    Pause {
        /// How long.
        length: Draw,
    },
    /// Gives a variable of the module a value.
    Set {
        /// Its name.
        variable: String,
        /// A formula: variables, parameters, `queue`, `active`, `message_bytes`.
        value: Quantity,
    },
    /// Does one of two things.
    If {
        /// A formula that is true or not.
        condition: Quantity,
        /// If it is true.
        actions: Vec<Action>,
        /// If not.
        otherwise: Vec<Action>,
    },
    /// Does something as long as a condition holds, which is looked at before each turn.
    While {
        /// A formula that is true or not.
        condition: Quantity,
        /// What.
        actions: Vec<Action>,
    },
    /// Does something so often.
    Repeat {
        /// A formula, computed once; rounded.
        times: Quantity,
        /// What.
        actions: Vec<Action>,
    },
    /// Ends what a module does for the same request as this activation.
    Cancel {
        /// The module.
        module: String,
        /// The device that carries the order; none within a processor.
        through: Option<String>,
    },
}

impl Action {
    /// The lists of actions in it, each with its key.
    pub(crate) fn parts(&self) -> Vec<(&'static str, &Vec<Action>)> {
        match self {
            Action::Ask { late, .. } | Action::Wait { late, .. } => vec![("late", late)],
            Action::If { actions, otherwise, .. } => vec![("do", actions), ("else", otherwise)],
            Action::While { actions, .. } | Action::Repeat { actions, .. } => vec![("do", actions)],
            _ => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub(crate) fn parts_mut(&mut self) -> Vec<(&'static str, &mut Vec<Action>)> {
        match self {
            Action::Ask { late, .. } | Action::Wait { late, .. } => vec![("late", late)],
            Action::If { actions, otherwise, .. } => vec![("do", actions), ("else", otherwise)],
            Action::While { actions, .. } | Action::Repeat { actions, .. } => vec![("do", actions)],
            _ => Vec::new(),
        }
    }

    /// It and all actions in it.
    pub(crate) fn all(&self) -> Vec<&Action> {
        let inner = self.parts().into_iter().flat_map(|(_, actions)| actions.iter().flat_map(Action::all));
        std::iter::once(self).chain(inner).collect()
    }

    /// What of it is drawn.
    pub(crate) fn draws(&self) -> Vec<&Draw> {
        match self {
            Action::Execute { times, .. } => vec![times],
            Action::Send { bytes, .. } | Action::Reply { bytes, .. } => vec![bytes],
            Action::Ask { bytes, timeout, .. } => [bytes].into_iter().chain(timeout).collect(),
            Action::Wait { timeout, .. } => timeout.iter().collect(),
            Action::Pause { length } => vec![length],
            Action::Use { time, bytes, key, .. } => [time, bytes].into_iter().chain(key).collect(),
            _ => Vec::new(),
        }
    }

    /// The message that it sends to a module which waits for it, the module, the device that carries it, and the stated route.
    pub(crate) fn sent(&self) -> Option<(&str, &str, Option<&str>, &[String])> {
        match self {
            Action::Send { message, to, through, route, .. }
            | Action::Ask { message, to, through, route, .. } => {
                Some((message, to, through.as_deref(), route))
            }
            _ => None,
        }
    }

    /// The device that carries what it sends.
    pub(crate) fn through(&self) -> Option<&str> {
        match self {
            Action::Reply { through, .. } | Action::Cancel { through, .. } => through.as_deref(),
            _ => self.sent().and_then(|(_, _, through, _)| through),
        }
    }

    /// The module that it names.
    pub(crate) fn target(&self) -> Option<&str> {
        match self {
            Action::Cancel { module, .. } => Some(module),
            _ => self.sent().map(|(_, to, ..)| to),
        }
    }

    /// The same, to be changed.
    pub(crate) fn target_mut(&mut self) -> Option<&mut String> {
        match self {
            Action::Send { to, .. } | Action::Ask { to, .. } => Some(to),
            Action::Cancel { module, .. } => Some(module),
            _ => None,
        }
    }

    /// The module to which it sends something, and the device that carries it, to be changed.
    pub(crate) fn carriage_mut(&mut self) -> Option<(&str, &mut Option<String>)> {
        match self {
            Action::Send { to, through, .. } | Action::Ask { to, through, .. } => Some((to, through)),
            Action::Cancel { module, through } => Some((module, through)),
            _ => None,
        }
    }
}

/// The actions of a list and those in them, each with its key; `key` is that of the list.
pub(crate) fn keyed<'a>(key: &str, actions: &'a [Action]) -> Vec<(String, &'a Action)> {
    let mut found = Vec::new();
    for (step, action) in actions.iter().enumerate() {
        let key = format!("{key}[{step}]");
        found.push((key.clone(), action));
        let parts = action.parts().into_iter();
        found.extend(parts.flat_map(|(part, inner)| keyed(&format!("{key}.{part}"), inner)));
    }
    found
}
