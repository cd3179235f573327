//! What a philosopher tells, a JSON array a line: what it did and in which order, for the check at the end.

use quintet::isotach::{Operation, Pulse, Rank, ReadValue, Stamp, View, Witnessed};
use quintet::{Bytes, Code, Error, NodeId, Place, Variable};
use serde_json::{Value, json};

/// One thing that a member did.
///
/// # Errors
/// It is nothing that philosophers do.
pub(super) fn write(witnessed: &Witnessed) -> Result<Value, Error> {
    Ok(match witnessed {
        Witnessed::Submitted { rank, operations, after } => {
            let operations = operations.iter().map(write_operation).collect::<Result<Vec<_>, _>>()?;
            json!(["submitted", rank.0, operations, write_place(*after)])
        }
        Witnessed::Executed { place, sender, rank } => {
            json!(["executed", write_place(*place), sender.0, rank.0])
        }
        Witnessed::Completed { place, rank, reads } => {
            let value = |value: &ReadValue| match value {
                ReadValue::Value(value) => json!(value[..]),
                ReadValue::Aborted => Value::Null,
                ReadValue::Lost => json!("lost"),
                ReadValue::Unanswered => json!("unanswered"),
            };
            let reads: Vec<Value> =
                reads.iter().map(|(variable, given)| json!([variable.0, value(given)])).collect();
            json!(["completed", write_place(*place), rank.0, reads])
        }
        Witnessed::Received { sender, rank, operations } => {
            let operations = operations.iter().map(write_operation).collect::<Result<Vec<_>, _>>()?;
            json!(["received", sender.0, rank.0, operations])
        }
        Witnessed::Lost { rank } => json!(["lost", rank.0]),
    })
}

fn write_operation(operation: &Operation) -> Result<Value, Error> {
    Ok(match operation {
        Operation::Read(variable) => json!(["read", variable.0]),
        Operation::Sched(variable) => json!(["schedule", variable.0]),
        Operation::Write(variable, value) => json!(["write", variable.0, value[..]]),
        Operation::Assign(variable, value) => json!(["assign", variable.0, value[..]]),
        Operation::Send { .. } => return Err(strange()),
    })
}

fn write_place(Place { stamp, behind }: Place) -> Value {
    json!([stamp.view.0, stamp.pulse.0, stamp.sender.0, stamp.rank.0, behind])
}

/// The same, read.
///
/// # Errors
/// It was written by something else.
pub(super) fn read(line: &Value) -> Result<Witnessed, Error> {
    let fields = line.as_array().ok_or_else(strange)?;
    let (what, fields) = fields.split_first().ok_or_else(strange)?;
    Ok(match (what.as_str(), fields) {
        (Some("submitted"), [rank, operations, after]) => {
            let operations = list(operations)?.iter().map(read_operation).collect::<Result<_, _>>()?;
            Witnessed::Submitted { rank: Rank(number(rank)?), operations, after: read_place(after)? }
        }
        (Some("executed"), [place, sender, rank]) => Witnessed::Executed {
            place: read_place(place)?,
            sender: NodeId(number(sender)?),
            rank: Rank(number(rank)?),
        },
        (Some("completed"), [place, rank, reads]) => Witnessed::Completed {
            place: read_place(place)?,
            rank: Rank(number(rank)?),
            reads: list(reads)?.iter().map(read_reading).collect::<Result<_, _>>()?,
        },
        (Some("received"), [sender, rank, operations]) => Witnessed::Received {
            sender: NodeId(number(sender)?),
            rank: Rank(number(rank)?),
            operations: list(operations)?.iter().map(read_operation).collect::<Result<_, _>>()?,
        },
        (Some("lost"), [rank]) => Witnessed::Lost { rank: Rank(number(rank)?) },
        _ => return Err(strange()),
    })
}

fn read_operation(operation: &Value) -> Result<Operation, Error> {
    let fields = list(operation)?;
    let variable = Variable(number(fields.get(1).ok_or_else(strange)?)?);
    Ok(match (fields[0].as_str(), &fields[2..]) {
        (Some("read"), []) => Operation::Read(variable),
        (Some("schedule"), []) => Operation::Sched(variable),
        (Some("write"), [value]) => Operation::Write(variable, bytes(value)?),
        (Some("assign"), [value]) => Operation::Assign(variable, bytes(value)?),
        _ => return Err(strange()),
    })
}

fn read_reading(reading: &Value) -> Result<(Variable, ReadValue), Error> {
    let [variable, value] = list(reading)? else { return Err(strange()) };
    let value = match value {
        Value::Null => ReadValue::Aborted,
        Value::String(why) if why == "lost" => ReadValue::Lost,
        Value::String(why) if why == "unanswered" => ReadValue::Unanswered,
        value => ReadValue::Value(bytes(value)?),
    };
    Ok((Variable(number(variable)?), value))
}

fn read_place(place: &Value) -> Result<Place, Error> {
    let [view, pulse, sender, rank, behind] = list(place)? else { return Err(strange()) };
    let stamp = Stamp {
        view: View(number(view)?),
        pulse: Pulse(number(pulse)?),
        sender: NodeId(number(sender)?),
        rank: Rank(number(rank)?),
    };
    Ok(Place { stamp, behind: number(behind)? })
}

fn list(value: &Value) -> Result<&[Value], Error> {
    value.as_array().map(Vec::as_slice).ok_or_else(strange)
}

fn number<N: TryFrom<u64>>(value: &Value) -> Result<N, Error> {
    value.as_u64().and_then(|number| N::try_from(number).ok()).ok_or_else(strange)
}

fn bytes(value: &Value) -> Result<Bytes, Error> {
    list(value)?.iter().map(number::<u8>).collect::<Result<Vec<u8>, _>>().map(Bytes::from)
}

fn strange() -> Error {
    Error::new(Code::Malformed, "a philosopher tells what none does")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_comes_back_and_what_was_not_is_refused() {
        let stamp = Stamp { view: View(1), pulse: Pulse(2), sender: NodeId(3), rank: Rank(4) };
        let (place, rank, variable) = (Place { stamp, behind: 5 }, Rank(6), Variable(7));
        let value = Bytes::from_static(&[1, 255]);
        let operations = vec![
            Operation::Read(variable),
            Operation::Sched(variable),
            Operation::Write(variable, value.clone()),
            Operation::Assign(variable, value.clone()),
        ];
        let given = [ReadValue::Value(value), ReadValue::Aborted, ReadValue::Lost, ReadValue::Unanswered];
        let reads = given.into_iter().map(|given| (variable, given)).collect();
        for witnessed in [
            Witnessed::Received { sender: NodeId(3), rank, operations: operations.clone() },
            Witnessed::Submitted { rank, operations, after: place },
            Witnessed::Executed { place, sender: NodeId(3), rank },
            Witnessed::Completed { place, rank, reads },
            Witnessed::Lost { rank },
        ] {
            assert_eq!(read(&write(&witnessed).unwrap()), Ok(witnessed));
        }
        for line in
            [json!(7), json!([]), json!(["lost"]), json!(["lost", -1]), json!(["submitted", 1, [[]], []])]
        {
            assert_eq!(read(&line), Err(strange()), "{line}");
        }
    }
}
