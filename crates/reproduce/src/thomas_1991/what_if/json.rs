//! The answers for a program.

use super::{Bound, ELEMENTS, Estimate, Finding, Row, WhatIf};
use crate::thomas_1991::{Application, Encoding, Machines};
use serde_json::{Map, Value, json};

impl WhatIf {
    /// One object a row, and a last one with what they say.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = self.rows.iter().map(|row| object(row, self.seeds)).collect();
        objects.push(json!({
            "study": "thomas-1991",
            "seeds": self.seeds,
            "digest": format!("{:016x}", self.digest),
            "rows": self.rows.len(),
            "findings": self.findings.iter().map(finding).collect::<Vec<Value>>(),
        }));
        objects
    }
}

fn object(row: &Row, seeds: u64) -> Value {
    let (case, setting) = (row.experiment.case, row.experiment.setting);
    let (element, share) = row.bottleneck();
    let utilisations = ELEMENTS.iter().zip(row.utilisations);
    let utilisations: Map<String, Value> =
        utilisations.map(|(name, share)| ((*name).to_owned(), json!(share))).collect();
    json!({
        "question": row.question.name(),
        "case": row.experiment.label(),
        "lan": case.lan.to_string(),
        "transport": case.transport.name(),
        "server_mips": case.server_mips,
        "machines": match setting.machines { Machines::Of1991 => "1991", Machines::Today => "today" },
        "application": match case.application {
            Application::Realtime { .. } => "realtime",
            Application::Batch { .. } => "batch",
        },
        "size": case.application.size(),
        "vector_processor": !matches!(case.application, Application::Batch { vector_processor: false, .. }),
        "model": case.model.name(),
        "encoding": match setting.encoding { Encoding::Text => "text", Encoding::Binary => "binary" },
        "commands": setting.commands,
        "lan_factor": row.experiment.factor.value(),
        "clients": setting.clients,
        "heads": setting.heads,
        "server_processors": setting.server_processors,
        "throughput": row.throughput.map(estimate),
        "unit": row.unit(),
        "seconds": row.seconds.map(estimate),
        "missing": row.missing(),
        "throughput_by_seed": row.runs,
        "idle_clients": row.idle_clients,
        "bound": row.bound().name(),
        "bound_element": match row.bound() { Bound::Element(element) => Some(element), Bound::Latency => None },
        "waiting": row.waiting(),
        "bottleneck": element,
        "bottleneck_utilisation": share,
        "utilisations": utilisations,
        "lost": row.lost,
        "seeds": seeds,
    })
}

fn estimate(estimate: Estimate) -> Value {
    json!({"mean": estimate.mean, "half_width": estimate.half_width})
}

fn finding(finding: &Finding) -> Value {
    json!({
        "question": finding.question.name(),
        "case": finding.case,
        "lan_factor": finding.factor.value(),
        "from": finding.from,
        "winner": finding.winner,
        "verdict": finding.verdict,
        "numbers": finding.numbers,
        "text": finding.sentence(),
        "with_lan_factor_1": finding.sensitivity.as_ref().map(|sensitivity| {
            json!({"same": sensitivity.is_same, "verdict": sensitivity.verdict, "numbers": sensitivity.numbers})
        }),
    })
}
