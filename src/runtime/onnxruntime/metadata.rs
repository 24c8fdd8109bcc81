//! What a model says about itself, as the engine has read it.

use std::ffi::{CStr, CString, c_char};

use ort_sys::{OrtAllocator, OrtModelMetadata, OrtStatusPtr};

use super::allocated::Allocator;
use super::failure::{Outcome, check};
use super::owned::Owned;
use super::session::Session;
use super::symbols::Api;
use crate::base::room::{Lossy, owned, push};
use crate::base::{Metadata, MetadataValue, Result, text};

type GetText = unsafe extern "system" fn(*const OrtModelMetadata, *mut OrtAllocator, *mut *mut c_char) -> OrtStatusPtr;

/// What the format itself has a place for, then the model's own texts, sorted by key: the engine keeps those in an order
/// that differs from run to run. What a model leaves empty is left out.
pub fn read(session: &Session) -> Result<Vec<Metadata>> {
    let source = Source::of(session)?;
    let api = session.engine.api;
    let fields: [(&str, GetText); 5] = [
        ("onnx.producer_name", api.ModelMetadataGetProducerName),
        ("onnx.graph_name", api.ModelMetadataGetGraphName),
        ("onnx.domain", api.ModelMetadataGetDomain),
        ("onnx.description", api.ModelMetadataGetDescription),
        ("onnx.graph_description", api.ModelMetadataGetGraphDescription),
    ];
    let mut all = Vec::new();
    for (key, get) in fields {
        if let Some(text) = source.text(get)?.filter(|text| !text.is_empty()) {
            push(&mut all, Metadata { key: owned(key)?, value: value(text) })?;
        }
    }
    if let Some(version) = source.version()? {
        push(&mut all, Metadata { key: owned("onnx.version")?, value: MetadataValue::Text(text!("{version}")) })?;
    }
    source.custom(&mut all)?;
    Ok(all)
}

/// The engine's object, and what it takes to ask it.
struct Source {
    api: Api,
    allocator: Allocator,
    metadata: Owned<OrtModelMetadata>,
}

impl Source {
    fn of(session: &Session) -> Outcome<Source> {
        let api = session.engine.api;
        // SAFETY: the session is alive; the result is ours to release.
        let metadata = unsafe {
            Owned::new(api, api.ReleaseModelMetadata, |place| (api.SessionGetModelMetadata)(session.as_ptr(), place))?
        };
        Ok(Source { api, allocator: Allocator::of(api)?, metadata })
    }

    fn text(&self, get: GetText) -> Outcome<Option<CString>> {
        // SAFETY: the metadata is alive; each of these functions gives a text from the allocator.
        unsafe { self.allocator.text(|allocator, place| get(self.metadata.as_ptr(), allocator, place)) }
    }

    /// `None` where the model has none, for which the engine says the largest number.
    fn version(&self) -> Outcome<Option<i64>> {
        let mut version = 0;
        // SAFETY: the metadata is alive and the number has a place.
        check(self.api, unsafe { (self.api.ModelMetadataGetVersion)(self.metadata.as_ptr(), &mut version) })?;
        Ok(Some(version).filter(|version| *version != i64::MAX))
    }

    fn custom(&self, all: &mut Vec<Metadata>) -> Result<()> {
        let get = self.api.ModelMetadataGetCustomMetadataMapKeys;
        // SAFETY: the metadata is alive; the function gives an array of texts, both from the allocator.
        let mut keys = unsafe {
            self.allocator.texts(|allocator, array, count| get(self.metadata.as_ptr(), allocator, array, count))?
        };
        keys.sort_unstable();
        for key in &keys {
            if let Some(text) = self.custom_text(key)? {
                push(all, Metadata { key: Lossy(key.to_bytes()).owned()?, value: value(text) })?;
            }
        }
        Ok(())
    }

    fn custom_text(&self, key: &CStr) -> Outcome<Option<CString>> {
        let get = self.api.ModelMetadataLookupCustomMetadataMap;
        // SAFETY: the metadata is alive and the key NUL-terminated; the function gives a text from the allocator, or null.
        unsafe { self.allocator.text(|allocator, place| get(self.metadata.as_ptr(), allocator, key.as_ptr(), place)) }
    }
}

/// Models may contain any bytes in the place of texts.
fn value(text: CString) -> MetadataValue {
    match text.into_string() {
        Ok(text) => MetadataValue::Text(text),
        Err(error) => MetadataValue::Binary(error.into_cstring().as_bytes().len()),
    }
}
