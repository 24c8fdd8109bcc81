//! What the helper is asked to do: a file without a name that begins with this, and goes on with the model's bytes if
//! these are not in a file of their own.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::{Limits, Settings, Subject, build, sys};
use crate::base::Dims;
use crate::core::{ContextOptions, CopyPolicy, ModelOptions};
use crate::runtime;

/// Where the model's bytes begin is a multiple of this, which engines and `mmap` are content with.
const BLOCK: usize = 4096;
const MAGIC: &[u8; 8] = b"zb-trial";

/// Everything that decides how the trial goes.
#[derive(Debug, Default, PartialEq)]
pub struct Request {
    /// What the host is; see [`build`].
    pub build: String,
    pub timeout_ns: u64,
    pub max_memory: u64,
    /// Engines that the host has loaded, by number, with their files.
    pub engines: Vec<(u64, PathBuf)>,
    /// Where the host looks for those that it has not.
    pub engine_folder: Option<PathBuf>,
    /// The model's file; without it the model is what follows the request.
    pub path: Option<PathBuf>,
    pub runtime: u64,
    pub sha256: Option<[u8; 32]>,
    pub max_tensor_bytes: u64,
    pub model_settings: Vec<(String, String)>,
    pub threads: u64,
    pub may_copy: bool,
    pub profile: bool,
    pub context_settings: Vec<(String, String)>,
    pub shapes: Vec<(u64, Dims)>,
}

impl Request {
    pub fn new(subject: &Subject<'_>, settings: &Settings, limits: &Limits) -> Request {
        let (model, context) = (&settings.model, &settings.context);
        Request {
            build: build(),
            timeout_ns: u64::try_from(limits.timeout.as_nanos()).unwrap_or(u64::MAX),
            max_memory: limits.memory,
            engines: loaded_engines(),
            engine_folder: runtime::own_folder(),
            path: match subject {
                Subject::Path(path) => Some(path.to_path_buf()),
                Subject::Bytes(_) => None,
            },
            runtime: u64::from(model.runtime.cast_unsigned()),
            sha256: model.sha256,
            max_tensor_bytes: model.max_tensor_bytes,
            model_settings: model.settings.clone(),
            threads: context.threads.max(1).into(),
            may_copy: context.copy_policy == CopyPolicy::Allow,
            profile: context.profile,
            context_settings: context.settings.clone(),
            shapes: settings.shapes.iter().map(|(input, dims)| (*input as u64, *dims)).collect(),
        }
    }

    pub fn model_options(&self) -> ModelOptions {
        ModelOptions {
            runtime: (self.runtime as u32).cast_signed(),
            sha256: self.sha256,
            max_tensor_bytes: self.max_tensor_bytes,
            settings: self.model_settings.clone(),
        }
    }

    pub fn context_options(&self) -> ContextOptions {
        ContextOptions {
            threads: self.threads as u32,
            copy_policy: if self.may_copy { CopyPolicy::Allow } else { CopyPolicy::Never },
            profile: self.profile,
            settings: self.context_settings.clone(),
        }
    }

    /// A file with the request, and behind it the model if it is in memory.
    pub fn write(&self, subject: &Subject<'_>) -> io::Result<File> {
        let mut head = Vec::new();
        self.put(&mut head);
        let mut file = sys::nameless_file()?;
        file.write_all(MAGIC)?;
        file.write_all(&(head.len() as u64).to_le_bytes())?;
        file.write_all(&head)?;
        if let Subject::Bytes(bytes) = subject {
            let written = MAGIC.len() + size_of::<u64>() + head.len();
            file.write_all(&vec![0; written.next_multiple_of(BLOCK) - written])?;
            file.write_all(bytes)?;
        }
        file.rewind()?;
        Ok(file)
    }

    /// Reads a request from the beginning of such a file; tells too where in it the model would begin.
    pub fn read(file: &mut File) -> io::Result<(Request, u64)> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "this is not a request of zerobind");
        let mut start = [0; 16];
        file.read_exact(&mut start)?;
        let (magic, length) = start.split_at(MAGIC.len());
        let length =
            u64::take(&mut &length[..]).filter(|length| magic == MAGIC && *length < 1 << 30).ok_or_else(wrong)?;
        let mut head = vec![0; length as usize];
        file.read_exact(&mut head)?;
        let request = Request::take(&mut &head[..]).ok_or_else(wrong)?;
        Ok((request, (start.len() as u64 + length).next_multiple_of(BLOCK as u64)))
    }
}

/// The engines that the host uses already, so that the trial uses the very same files.
fn loaded_engines() -> Vec<(u64, PathBuf)> {
    // a helper with linked engines has its own, and no others
    if cfg!(feature = "linked") {
        return Vec::new();
    }
    let loaded = runtime::ALL.iter().filter_map(|runtime| {
        let path = runtime.info().path?;
        Some((u64::from(runtime.id().cast_unsigned()), std::ffi::OsStr::from_bytes(path.to_bytes()).into()))
    });
    loaded.collect()
}

/// A value as bytes.
trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut &[u8]) -> Option<Self>;
}

impl Field for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
    fn take(from: &mut &[u8]) -> Option<u64> {
        let (number, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(u64::from_le_bytes(*number))
    }
}

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }
    fn take(from: &mut &[u8]) -> Option<bool> {
        u64::take(from).map(|number| number != 0)
    }
}

impl Field for [u8; 32] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }
    fn take(from: &mut &[u8]) -> Option<[u8; 32]> {
        let (bytes, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(*bytes)
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    (bytes.len() as u64).put(out);
    out.extend(bytes);
}

fn take_bytes(from: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::take(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(bytes.to_vec())
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }
    fn take(from: &mut &[u8]) -> Option<String> {
        String::from_utf8(take_bytes(from)?).ok()
    }
}

impl Field for PathBuf {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_os_str().as_bytes(), out);
    }
    fn take(from: &mut &[u8]) -> Option<PathBuf> {
        Some(std::ffi::OsString::from_vec(take_bytes(from)?).into())
    }
}

impl Field for Dims {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().iter().map(|dim| dim.cast_unsigned()).collect::<Vec<u64>>().put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Dims> {
        let dims: Vec<i64> = Vec::<u64>::take(from)?.into_iter().map(u64::cast_signed).collect();
        Dims::new(&dims).ok()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(from: &mut &[u8]) -> Option<(A, B)> {
        Some((A::take(from)?, B::take(from)?))
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|item| item.put(out));
    }
    fn take(from: &mut &[u8]) -> Option<Vec<T>> {
        let count = u64::take(from)?;
        (0..count).map(|_| T::take(from)).collect()
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|item| item.put(out));
    }
    fn take(from: &mut &[u8]) -> Option<Option<T>> {
        Some(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

macro_rules! fields {
    ($($name:ident),* $(,)?) => {
        impl Field for Request {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$name.put(out);)*
            }
            fn take(from: &mut &[u8]) -> Option<Request> {
                let request = Request { $($name: Field::take(from)?),* };
                from.is_empty().then_some(request)
            }
        }
    };
}
fields!(
    build,
    timeout_ns,
    max_memory,
    engines,
    engine_folder,
    path,
    runtime,
    sha256,
    max_tensor_bytes,
    model_settings,
    threads,
    may_copy,
    profile,
    context_settings,
    shapes,
);

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Request {
        Request {
            build: "1.2.3 (größe)".to_owned(),
            timeout_ns: 7,
            max_memory: u64::MAX,
            engines: vec![(1, "/a/b".into()), (2, std::ffi::OsString::from_vec(vec![0xff, b'/']).into())],
            engine_folder: Some("/engines".into()),
            path: Some("model.onnx".into()),
            runtime: 2,
            sha256: Some([9; 32]),
            max_tensor_bytes: 5,
            model_settings: vec![("k".to_owned(), "v".to_owned())],
            threads: 4,
            may_copy: true,
            profile: true,
            context_settings: vec![],
            shapes: vec![(1, Dims::new(&[2, 3]).unwrap()), (0, Dims::SCALAR)],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let model = b"the model's bytes";
        for request in [full(), Request::default()] {
            let mut file = request.write(&Subject::Bytes(model)).unwrap();
            let (read, at) = Request::read(&mut file).unwrap();
            assert_eq!(read, request);
            assert_eq!(at % BLOCK as u64, 0);
            file.seek(io::SeekFrom::Start(at)).unwrap();
            let mut rest = Vec::new();
            file.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, model);
        }
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_refused() {
        let mut whole = Vec::new();
        full().put(&mut whole);
        assert!(Request::take(&mut &whole[..]).is_some());
        for length in 0..whole.len() {
            assert!(Request::take(&mut &whole[..length]).is_none(), "{length}");
        }
        whole.push(0);
        assert!(Request::take(&mut &whole[..]).is_none());
    }
}
