//! `zerobind inspect`: what a model takes and gives, and what memory for it has to be like.

use serde::Serialize;

use crate::abi::*;
use crate::cli::Inspect;
use crate::failure::{Failure, Result};
use crate::session::Session;
use crate::{print, text};

#[derive(Serialize)]
struct Description {
    model: String,
    bytes: u64,
    engine: &'static str,
    engine_version: String,
    inputs: Vec<SlotDescription>,
    outputs: Vec<SlotDescription>,
    signatures: Vec<String>,
    metadata: Vec<Entry>,
    /// Why the model could not be planned, and so nothing is known of memory.
    not_planned: Option<String>,
}

#[derive(Serialize)]
struct Entry {
    key: String,
    /// `None` for bytes that are no text.
    value: Option<String>,
}

#[derive(Serialize)]
struct SlotDescription {
    name: String,
    dtype: String,
    /// `null` where a dimension is open.
    shape: Vec<Option<i64>>,
    dim_names: Vec<String>,
    bytes: Option<u64>,
    flags: Vec<&'static str>,
    quantization: Option<QuantizationDescription>,
    memory: Option<Memory>,
    #[serde(skip)]
    title: String,
}

#[derive(Serialize)]
struct QuantizationDescription {
    scales: Vec<f32>,
    zero_points: Vec<i32>,
    axis: Option<i32>,
}

#[derive(Serialize)]
struct Memory {
    /// `None` when only the run tells.
    bytes: Option<u64>,
    alignment: u64,
    slack: u64,
    new_address: &'static str,
    kinds: Vec<&'static str>,
}

pub fn inspect(options: &Inspect) -> Result<()> {
    let mut session = Session::open(&options.common, false)?;
    let description = describe(&mut session, options)?;
    if options.common.json { print::json(&description) } else { print::text(&prose(&description, &session)) }
}

fn describe(session: &mut Session, options: &Inspect) -> Result<Description> {
    let path = &options.common.model;
    let bytes = std::fs::metadata(path).map_err(|error| Failure::file(path, "cannot be read", &error))?.len();
    // a model that cannot be planned as it is can still be described
    let not_planned = session.context.prepare().err().map(|error| error.text);
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (slot, _) in &session.slots {
        let info = session.context.slot_info(*slot)?;
        let memory =
            if not_planned.is_none() { Some(Memory::new(&session.context.requirements(*slot)?)) } else { None };
        let side = if matches!(slot, Slot::Input(_)) { &mut inputs } else { &mut outputs };
        side.push(SlotDescription::new(&info, memory));
    }
    Ok(Description {
        model: path.to_string_lossy().into_owned(),
        bytes,
        engine: session.engine.key(),
        engine_version: session.engine_version.clone(),
        inputs,
        outputs,
        signatures: session.model.signatures()?,
        metadata: metadata(&session.model)?,
        not_planned,
    })
}

fn metadata(model: &Model) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for key in model.metadata_keys()? {
        let value = match model.metadata_of(&key) {
            Ok(value) => Some(value),
            Err(error) if error.status == ZB_ERROR_UNSUPPORTED => None,
            Err(error) => return Err(error.into()),
        };
        entries.push(Entry { key, value });
    }
    Ok(entries)
}

impl SlotDescription {
    fn new(info: &SlotInfo, memory: Option<Memory>) -> SlotDescription {
        let Quantization { scales, zero_points, axis } = info.quantization.clone();
        let has_bytes = info.desc.is_known() && dtype_bits(info.desc.dtype) > 0;
        SlotDescription {
            name: info.name.clone(),
            dtype: dtype_name(info.desc.dtype),
            shape: info.desc.dims.iter().map(|dim| (*dim >= 0).then_some(*dim)).collect(),
            dim_names: info.dim_names.clone(),
            bytes: has_bytes.then_some(info.size),
            flags: flags(info.flags),
            quantization: (!scales.is_empty()).then_some(QuantizationDescription { scales, zero_points, axis }),
            memory,
            title: text::slot_type(info),
        }
    }
}

fn flags(bits: u32) -> Vec<&'static str> {
    let known = [
        (ZB_SLOT_CONSTANT, "constant"),
        (ZB_SLOT_PASS_THROUGH, "pass-through"),
        (ZB_SLOT_DYNAMIC, "dynamic"),
        (ZB_SLOT_DUPLICATE, "duplicate"),
    ];
    known.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}

impl Memory {
    fn new(requirements: &Requirements) -> Memory {
        let kinds = [(ZB_MEMORY_HOST, "host"), (ZB_MEMORY_SHARED, "shared")];
        Memory {
            bytes: (requirements.size > 0).then_some(requirements.size),
            alignment: requirements.alignment,
            slack: requirements.slack,
            new_address: match requirements.rebind {
                ZB_REBIND_FREE => "free",
                ZB_REBIND_REPLAN => "plans again",
                ZB_REBIND_STAGED => "only by copy",
                _ => "unknown",
            },
            kinds: kinds
                .iter()
                .filter(|(bit, _)| requirements.memory_kinds & bit != 0)
                .map(|(_, name)| *name)
                .collect(),
        }
    }
}

fn prose(description: &Description, session: &Session) -> String {
    let model = text::plain(&description.model);
    let mut all = format!("{model}: {}, {}\n", session.engine_title(), text::bytes(description.bytes));
    for (title, slots) in [("Inputs", &description.inputs), ("Outputs", &description.outputs)] {
        all += &format!("\n{title}\n{}", slot_table(slots));
    }
    all += &quantized(description);
    all += &memory_table(description);
    if !description.signatures.is_empty() {
        all += "\nSignatures\n";
        all += &text::table(&description.signatures.iter().map(|key| vec![text::plain(key)]).collect::<Vec<_>>());
    }
    if !description.metadata.is_empty() {
        all += "\nMetadata\n";
        all += &text::table(&description.metadata.iter().map(metadata_row).collect::<Vec<_>>());
    }
    all
}

fn slot_table(slots: &[SlotDescription]) -> String {
    if slots.is_empty() {
        return "  none\n".to_owned();
    }
    let row = |slot: &SlotDescription| {
        let size = slot.bytes.map_or_else(String::new, text::bytes);
        vec![text::plain(&slot.name), text::plain(&slot.title), size, slot.flags.join(", ")]
    };
    text::table(&slots.iter().map(row).collect::<Vec<_>>())
}

/// What a stored value means, for the slots where it means another number.
fn quantized(description: &Description) -> String {
    let rows: Vec<_> = (description.inputs.iter().chain(&description.outputs))
        .filter_map(|slot| Some(vec![text::plain(&slot.name), formula(slot.quantization.as_ref()?)]))
        .collect();
    if rows.is_empty() { String::new() } else { format!("\nQuantization\n{}", text::table(&rows)) }
}

fn formula(quantization: &QuantizationDescription) -> String {
    let QuantizationDescription { scales, zero_points, axis } = quantization;
    let pair = |index: usize| format!("{} * (stored - {})", scales[index], zero_points.get(index).unwrap_or(&0));
    match axis {
        None => pair(0),
        Some(axis) => {
            let shown: Vec<_> = (0..scales.len().min(4)).map(pair).collect();
            let more =
                if scales.len() > shown.len() { format!(", ... {} in all", scales.len()) } else { String::new() };
            format!("along dimension {axis}: {}{more}", shown.join(", "))
        }
    }
}

fn memory_table(description: &Description) -> String {
    if let Some(reason) = &description.not_planned {
        return format!("\nMemory\n  not known: {}\n", text::plain(reason));
    }
    let heads = ["slot", "bytes", "address a multiple of", "readable behind", "new address", "kinds"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for slot in description.inputs.iter().chain(&description.outputs) {
        let Some(memory) = &slot.memory else { continue };
        let bytes = match (memory.bytes, slot.bytes) {
            (Some(bytes), _) => text::count(bytes),
            (None, Some(0)) => "0".to_owned(),
            _ if memory.kinds.is_empty() => "none fits".to_owned(),
            (None, _) => "the run tells".to_owned(),
        };
        let kinds = memory.kinds.join(", ");
        let (alignment, slack) = (memory.alignment.to_string(), memory.slack.to_string());
        rows.push(vec![text::plain(&slot.name), bytes, alignment, slack, memory.new_address.to_owned(), kinds]);
    }
    format!("\nMemory\n{}", text::table(&rows))
}

fn metadata_row(entry: &Entry) -> Vec<String> {
    let value = entry.value.as_deref().map_or_else(|| "(bytes that are no text)".to_owned(), short);
    vec![text::plain(&entry.key), value]
}

/// The first line, cut where it is long; JSON has all of it.
fn short(value: &str) -> String {
    let line = value.lines().next().unwrap_or("");
    let cut: String = line.chars().take(100).collect();
    let more = if cut.len() < value.trim_end().len() { " ..." } else { "" };
    text::plain(&cut) + more
}
