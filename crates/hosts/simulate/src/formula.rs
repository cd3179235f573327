//! Formulas: what a modelled program computes while it runs, from its variables, the message at hand and its queue.

/// A number that is computed when it is needed. What is true is 1, what is not is 0; every other number but 0 counts as true.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// Always this number.
    Constant(f64),
    /// A variable of the module, by its number.
    Variable(usize),
    /// The length of the message that activated it, or that it waited for last, in bytes.
    MessageBytes,
    /// Activations of the module that are ready, and inputs that it has not looked at.
    Queue,
    /// Activations of the module that have begun and not ended, this one among them.
    Active,
    /// Of one formula.
    One(Function, Box<Formula>),
    /// Of two formulas.
    Two(Operation, Box<(Formula, Formula)>),
}

/// What is made of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    /// The number below zero, or above.
    Negative,
    /// The next whole number above.
    Ceil,
    /// The next whole number below.
    Floor,
    /// Whether it is 0.
    Not,
}

/// What is made of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// The sum.
    Plus,
    /// The difference.
    Minus,
    /// The product.
    Times,
    /// The quotient.
    Over,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Whether the first is smaller.
    Below,
    /// Whether the first is not larger.
    AtMost,
    /// Whether both are the same.
    Equal,
    /// Whether both are true.
    And,
    /// Whether one is true.
    Or,
}

/// What a formula is computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) variables: &'a [f64],
    pub(crate) message_bytes: u64,
    pub(crate) queue: usize,
    pub(crate) active: usize,
}

impl Formula {
    /// Of one formula; a constant of a constant.
    #[must_use]
    pub fn one(function: Function, of: Formula) -> Formula {
        match of {
            Formula::Constant(value) => Formula::Constant(function.of(value)),
            of => Formula::One(function, Box::new(of)),
        }
    }

    /// Of two formulas; a constant of two constants.
    #[must_use]
    pub fn two(operation: Operation, left: Formula, right: Formula) -> Formula {
        match (left, right) {
            (Formula::Constant(left), Formula::Constant(right)) => {
                Formula::Constant(operation.of(left, right))
            }
            both => Formula::Two(operation, Box::new(both)),
        }
    }

    /// Its value, if it is the same each time.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        if let Formula::Constant(value) = self { Some(*value) } else { None }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    pub(crate) fn value(&self, facts: Facts<'_>) -> f64 {
        match self {
            Formula::Constant(value) => *value,
            Formula::Variable(number) => facts.variables.get(*number).copied().unwrap_or(0.0),
            Formula::MessageBytes => facts.message_bytes as f64,
            Formula::Queue => facts.queue as f64,
            Formula::Active => facts.active as f64,
            Formula::One(function, of) => function.of(of.value(facts)),
            Formula::Two(operation, both) => operation.of(both.0.value(facts), both.1.value(facts)),
        }
    }
}

/// Whether a value counts as true; what is no number does not.
pub(crate) fn is_true(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

fn truth(is_true: bool) -> f64 {
    f64::from(u8::from(is_true))
}

impl Function {
    fn of(self, value: f64) -> f64 {
        match self {
            Function::Negative => -value,
            Function::Ceil => value.ceil(),
            Function::Floor => value.floor(),
            Function::Not => truth(!is_true(value)),
        }
    }
}

impl Operation {
    #[expect(clippy::float_cmp, reason = "it is what was asked for: counts are exact")]
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Operation::Plus => left + right,
            Operation::Minus => left - right,
            Operation::Times => left * right,
            Operation::Over => left / right,
            Operation::Min => left.min(right),
            Operation::Max => left.max(right),
            Operation::Below => truth(left < right),
            Operation::AtMost => truth(left <= right),
            Operation::Equal => truth(left == right),
            Operation::And => truth(is_true(left) && is_true(right)),
            Operation::Or => truth(is_true(left) || is_true(right)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_computed_from_the_facts() {
        let facts = Facts { variables: &[3.0, -1.0], message_bytes: 1_500, queue: 2, active: 4 };
        let two = |operation, left, right| Formula::two(operation, left, right).value(facts);
        assert_eq!(two(Operation::Plus, Formula::Variable(0), Formula::Variable(1)), 2.0);
        assert_eq!(two(Operation::Over, Formula::MessageBytes, Formula::Constant(3.0)), 500.0);
        assert_eq!(two(Operation::Below, Formula::Queue, Formula::Active), 1.0);
        assert_eq!(two(Operation::AtMost, Formula::Active, Formula::Queue), 0.0);
        assert_eq!(two(Operation::And, Formula::Queue, Formula::Variable(7)), 0.0, "none is 0");
        assert_eq!(Formula::one(Function::Not, Formula::Variable(1)).value(facts), 0.0);
    }

    #[test]
    fn what_is_constant_is_computed_once() {
        let three = Formula::two(Operation::Minus, Formula::Constant(5.0), Formula::Constant(2.0));
        assert_eq!(three.constant(), Some(3.0));
        assert_eq!(Formula::one(Function::Floor, Formula::Constant(2.5)).constant(), Some(2.0));
        assert_eq!(Formula::two(Operation::Plus, three, Formula::Queue).constant(), None);
        assert!(!is_true(f64::NAN) && is_true(-1.0));
    }
}
