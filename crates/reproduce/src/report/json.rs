//! A report for a program.

use super::{Count, Predictor, Report, Scope};
use crate::cell::{Cell, Role};
use crate::sensitivity::{Off, Sensitivity};
use crate::start::{Start, spread};
use serde_json::{Value, json};

impl Report {
    /// One object a cell, one a parameter and one a start if those were asked for, and a last one that sums them up.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = self.cells.iter().map(object).collect();
        objects.extend(self.parameters.iter().map(parameter));
        objects.extend(self.starts.iter().map(start));
        let (set_aside, measured) = self.set_aside();
        objects.push(json!({
            "study": self.study,
            "seeds": self.seeds,
            "digest": format!("{:016x}", self.digest),
            "cells": self.cells.len(),
            "set_aside": set_aside,
            "measured": measured,
            "fitted": self.counted(Role::Fitted),
            "predicted": self.counted(Role::Predicted),
            "starts": self.spread(),
        }));
        objects
    }

    /// Of the compared cells, with what every cell gives, those set aside as missed, and the naive predictor.
    fn counted(&self, role: Role) -> Value {
        let count = |scope, predictor| {
            let Count { within, of } = self.count_of(role, scope, predictor);
            json!({"within": within, "of": of})
        };
        let Count { within, of } = self.count(role);
        let naive = match role {
            Role::Fitted => Value::Null,
            Role::Predicted => json!({
                "compared": count(Scope::Compared, Predictor::Naive),
                "every": count(Scope::Every, Predictor::Naive),
            }),
        };
        json!({
            "within": within,
            "of": of,
            "every": count(Scope::Every, Predictor::Simulation),
            "mean_error": self.mean_error(role),
            "naive": naive,
        })
    }
}

impl Report {
    /// How far fits from several starts are from each other; nothing without one.
    fn spread(&self) -> Value {
        spread(&self.starts).map_or(Value::Null, |(counts, least)| {
            let [fitted, predicted] = counts.map(|counts| counts.map(|count| count.within));
            json!({"count": self.starts.len(), "fitted": fitted, "predicted": predicted, "least": least.number})
        })
    }
}

fn start(start: &Start) -> Value {
    let [fitted, predicted] = start.within.map(|Count { within, of }| json!({"within": within, "of": of}));
    let values: serde_json::Map<String, Value> =
        start.values.iter().map(|(name, value, _)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "start": start.number,
        "sum": start.sum,
        "fitted": fitted,
        "predicted": predicted,
        "mean_error": start.error,
        "values": values,
    })
}

fn object(cell: &Cell) -> Value {
    json!({
        "table": cell.table,
        "row": cell.row,
        "column": cell.column.name(),
        "published": cell.published,
        "ours": cell.ours,
        "difference": cell.difference(),
        "within": cell.within(),
        "naive": cell.naive,
        "role": cell.role.name(),
        "set_aside": cell.set_aside,
        "miss": cell.miss,
    })
}

fn parameter(found: &Sensitivity) -> Value {
    let off = |off: Off| {
        let role = |role: usize| json!({"within": off.within[role].within, "mean_error": off.error[role]});
        json!({"fitted": role(0), "predicted": role(1)})
    };
    let [less, more] = found.off;
    json!({
        "parameter": found.name,
        "value": found.value,
        "unit": found.unit,
        "from": found.source,
        "is": "inferred",
        "cells": found.cells,
        "tenth_less": off(less),
        "tenth_more": off(more),
    })
}
