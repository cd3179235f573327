//! A report for a program.

use super::Report;
use crate::cell::{Cell, Role};
use serde_json::{Value, json};

impl Report {
    /// One object a cell, and a last one that sums them up.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = self.cells.iter().map(object).collect();
        let count = |role| {
            let count = self.count(role);
            json!({"within": count.within, "of": count.of})
        };
        objects.push(json!({
            "study": self.study,
            "seeds": self.seeds,
            "digest": format!("{:016x}", self.digest),
            "cells": self.cells.len(),
            "fitted": count(Role::Fitted),
            "predicted": count(Role::Predicted),
        }));
        objects
    }
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
        "role": cell.role.name(),
        "reason": cell.reason,
    })
}
