//! Selects whose templates are of several managers, and replacements whose tuples are: what each of them is to look for.

use super::Router;
use super::parts::Several;
use super::target::{Target, of_template};
use crate::codec::{AskedPart, FurtherOperation, PutTuple, Replace, SeekBody, Select, TooLarge, View};
use crate::managers::Placement;
use bytes::Bytes;
use quintet_errors::Code;
use std::collections::BTreeMap;

/// What one manager has of such a request.
#[derive(Default)]
struct Share<'a> {
    /// Which of the templates its own are.
    which: Vec<u8>,
    /// These templates, and what it puts.
    parts: Vec<PutTuple<'a>>,
}

impl Router {
    /// Whom to ask for the oldest match of several templates.
    pub(super) fn select(&self, placement: &Placement, select: &Select<'_>) -> Target {
        let mut shares: BTreeMap<u8, Share<'_>> = BTreeMap::new();
        for (number, (template, bulk)) in (0u8..).zip(&select.templates) {
            let manager = match of_template(placement, template) {
                Target::One(manager, _) => manager,
                gathered => return gathered,
            };
            let share = shares.entry(manager).or_default();
            share.which.push(number);
            share.parts.push(template_part(template, bulk));
        }
        if shares.len() < 2 {
            return Target::One(shares.into_keys().next().unwrap_or(0), None);
        }
        let operation =
            if select.takes { FurtherOperation::SelectTake } else { FurtherOperation::SelectRead };
        let part = |(manager, share): (u8, Share<'_>)| {
            let seek = SeekBody::new((operation, select.lease), true, &share.which, &share.parts)?;
            Ok((manager, AskedPart::Seek(seek)))
        };
        asked_of(shares.into_iter().map(part).collect(), select.wait)
    }

    /// Whom to ask to replace a tuple: its manager, and those to which what is put belongs.
    pub(super) fn replacement(&self, placement: &Placement, replace: &Replace<'_>) -> Target {
        let home = match of_template(placement, &replace.template) {
            Target::One(manager, _) => manager,
            gathered => return gathered,
        };
        let mut shares = BTreeMap::from([(home, Vec::new())]);
        for tuple in replace.tuples.iter() {
            shares.entry(placement.of_tuple(&tuple.tuple)).or_default().push(tuple);
        }
        if shares.len() < 2 {
            return Target::One(home, None);
        }
        let part = |(manager, tuples): (u8, Vec<PutTuple<'_>>)| {
            // All have the template, as a replacement has one; it is listed where what matches is.
            let parts: Vec<_> =
                core::iter::once(template_part(&replace.template, &replace.bulk)).chain(tuples).collect();
            let seek = SeekBody::new((FurtherOperation::Replace, None), manager == home, &[], &parts)?;
            Ok((manager, AskedPart::Seek(seek)))
        };
        asked_of(shares.into_iter().map(part).collect(), replace.wait)
    }
}

/// A template as a part of a request.
fn template_part<'a>(template: &View<'a>, bulk: &Bytes) -> PutTuple<'a> {
    PutTuple { tuple: *template, bulk: bulk.clone(), expires_in: None }
}

fn asked_of(parts: Result<Vec<(u8, AskedPart)>, TooLarge>, wait: crate::Wait) -> Target {
    match parts {
        Ok(parts) => Target::Several(Several::new(parts, wait)),
        Err(error) => Target::Refused(Code::TooLarge, error.to_string()),
    }
}
