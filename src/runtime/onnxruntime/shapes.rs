//! Shapes of outputs from shapes of inputs, as far as names of dimensions tell.

use std::collections::HashMap;

use super::names::Names;
use crate::base::room::no_room;
use crate::base::{Desc, Dims, Dtype, Gather, Result, Side, Slot, SlotInfo, fail, text};
use crate::runtime::{Plan, PlannedSlot};

/// Settles the shapes for these dimensions of the inputs. The engine is not asked: it computes shapes only while it runs.
pub fn plan(inputs: &[SlotInfo], outputs: &[SlotInfo], names: &Names, given: &[Dims]) -> Result<Plan> {
    if given.len() != inputs.len() {
        return fail!(InvalidArgument, "{} shapes for a model with {} inputs", given.len(), inputs.len());
    }
    for (index, (slot, dims)) in inputs.iter().zip(given).enumerate() {
        require(Slot::input(index), slot, dims)?;
    }
    let known = named_dims(inputs, given)?;
    let planned_inputs = inputs.iter().zip(given).map(|(slot, dims)| planned(slot, *dims)).gather()?;
    let output = |(index, slot): (usize, &SlotInfo)| {
        let twin = names.twin(index);
        match twin {
            // a twin of an earlier output has its name and so its shape
            Some(Slot { side: Side::Input, index: input }) => {
                PlannedSlot { twin, ..planned(slot, planned_inputs[input].desc.dims) }
            }
            _ => PlannedSlot { twin, ..planned(slot, resolved(slot, &known)) },
        }
    };
    let planned_outputs = outputs.iter().enumerate().map(output).gather()?;
    Ok(Plan { inputs: planned_inputs, outputs: planned_outputs })
}

fn require(place: Slot, slot: &SlotInfo, dims: &Dims) -> Result<()> {
    let name = &slot.name;
    if !dims.matches(&slot.desc.dims) {
        return fail!(
            ShapeMismatch,
            "{place} '{name}': {dims} does not fit the model's {}; only dimensions of -1 are free",
            slot.desc.dims
        );
    }
    if !dims.is_known() {
        return fail!(ShapeMismatch, "{place} '{name}': {dims} has open dimensions; give all of them before a run");
    }
    if slot.desc.dtype != Dtype::String {
        Desc { dims: *dims, ..slot.desc }.byte_size().map_err(|error| error.at(text!("{place} '{name}'")))?;
    }
    Ok(())
}

/// The value of each dimension that has a name; `None` where inputs disagree. The engine lets them, so a model may mean it.
fn named_dims<'a>(inputs: &'a [SlotInfo], given: &[Dims]) -> Result<HashMap<&'a str, Option<i64>>> {
    let mut known = HashMap::new();
    for (slot, dims) in inputs.iter().zip(given) {
        let open = slot.desc.dims.as_slice().iter().zip(dims.as_slice()).zip(&slot.dim_names);
        for ((declared, dim), name) in open {
            if *declared < 0 && !name.is_empty() {
                known.try_reserve(1).map_err(|_| no_room(size_of::<(&str, Option<i64>)>()))?;
                let value = known.entry(name.as_str()).or_insert(Some(*dim));
                *value = value.filter(|value| value == dim);
            }
        }
    }
    Ok(known)
}

fn resolved(slot: &SlotInfo, known: &HashMap<&str, Option<i64>>) -> Dims {
    let mut dims = slot.desc.dims;
    for (dim, name) in dims.as_mut_slice().iter_mut().zip(&slot.dim_names) {
        if *dim < 0 {
            *dim = known.get(name.as_str()).copied().flatten().unwrap_or(-1);
        }
    }
    dims
}

fn planned(slot: &SlotInfo, dims: Dims) -> PlannedSlot {
    let mut flags = slot.flags;
    flags.dynamic = !dims.is_known();
    let strings = c"string tensors are objects of the engine; no host memory can take their place";
    let fixed = (slot.desc.dtype == Dtype::String).then_some(strings);
    PlannedSlot { desc: Desc { dims, ..slot.desc }, flags, twin: None, fixed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Quantization, SlotFlags, Status};
    use proptest::prelude::*;
    use std::ffi::CString;

    fn dims(dims: &[i64]) -> Dims {
        Dims::new(dims).unwrap()
    }

    /// A slot whose dimensions are numbers, names, or neither ("").
    fn slot(name: &str, shape: &[&str]) -> SlotInfo {
        let sizes: Vec<_> = shape.iter().map(|dim| dim.parse().unwrap_or(-1)).collect();
        let names = shape.iter().map(|dim| if dim.parse::<i64>().is_ok() { "" } else { dim });
        SlotInfo {
            name: name.to_owned(),
            desc: Desc { dtype: Dtype::F32, dims: dims(&sizes) },
            initial: dims(&sizes),
            flags: SlotFlags::default(),
            dim_names: names.map(str::to_owned).collect(),
            quantization: Quantization::None,
        }
    }

    fn planned(inputs: &[SlotInfo], outputs: &[SlotInfo], given: &[&[i64]]) -> Result<Plan> {
        let c_names = |slots: &[SlotInfo]| slots.iter().map(|slot| CString::new(&*slot.name).unwrap()).collect();
        let names = Names::of(c_names(inputs), c_names(outputs)).unwrap();
        let given: Vec<_> = given.iter().map(|shape| dims(shape)).collect();
        plan(inputs, outputs, &names, &given)
    }

    #[test]
    fn names_carry_sizes_from_inputs_to_outputs() {
        let inputs = [slot("x", &["batch", "", "4"]), slot("y", &["batch", "width"])];
        let outputs = [slot("z", &["width", "batch", "4", "", "batch + 1"])];
        let plan = planned(&inputs, &outputs, &[&[3, 9, 4], &[3, 5]]).unwrap();
        assert_eq!(plan.outputs[0].desc.dims, dims(&[5, 3, 4, -1, -1]));
        assert!(plan.outputs[0].flags.dynamic && !plan.inputs[0].flags.dynamic);
        assert_eq!(plan.inputs[1].desc.dims, dims(&[3, 5]));
    }

    #[test]
    fn inputs_that_disagree_tell_nothing() {
        let inputs = [slot("x", &["n"]), slot("y", &["n"]), slot("w", &["n"])];
        let plan = planned(&inputs, &[slot("z", &["n"])], &[&[3], &[4], &[3]]).unwrap();
        assert_eq!(plan.outputs[0].desc.dims, dims(&[-1]));
    }

    #[test]
    fn a_twin_of_an_input_has_its_shape() {
        let plan = planned(&[slot("x", &["n", ""])], &[slot("x", &["", ""])], &[&[3, 4]]).unwrap();
        assert_eq!(plan.outputs[0].desc.dims, dims(&[3, 4]));
        assert_eq!(plan.outputs[0].twin, Some(Slot::input(0)));
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let inputs = [slot("x", &["n", "4"])];
        for given in [&[3, 5][..], &[3], &[-1, 4], &[1 << 62, 4]] {
            let error = planned(&inputs, &[], &[given]).unwrap_err();
            assert_eq!(error.status, Status::ShapeMismatch, "{given:?}");
            assert!(error.text().contains("input 0 'x'"), "{}", error.text());
        }
        assert_eq!(planned(&inputs, &[], &[]).unwrap_err().status, Status::InvalidArgument);
        planned(&inputs, &[], &[&[0, 4]]).unwrap();
    }

    proptest! {
        #[test]
        fn a_planned_shape_fits_the_declared_one(
            shape in prop::collection::vec(prop::sample::select(vec!["a", "b", "", "2", "7"]), 0..5),
            a in 0i64..9,
            b in 0i64..9,
        ) {
            let inputs = [slot("x", &["a", "b"])];
            let outputs = [slot("z", &shape)];
            let plan = planned(&inputs, &outputs, &[&[a, b]]).unwrap();
            prop_assert!(plan.outputs[0].desc.dims.matches(&outputs[0].desc.dims));
            let wanted: Vec<i64> = shape.iter().map(|dim| match *dim {
                "a" => a,
                "b" => b,
                "" => -1,
                number => number.parse().unwrap(),
            }).collect();
            prop_assert_eq!(plan.outputs[0].desc.dims, dims(&wanted));
        }
    }
}
