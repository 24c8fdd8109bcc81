//! A file that an input comes from.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::abi::{Desc, SlotInfo, Tensor};
use crate::failure::{Exit, Failure, Result};
use crate::npy::{self, Header};
use crate::text;

pub struct InputFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// `None` for bare bytes.
    npy: Option<Header>,
}

/// Where a tensor lies in a file.
pub struct Placed {
    pub desc: Desc,
    pub offset: u64,
}

impl InputFile {
    pub fn open(path: &Path) -> Result<InputFile> {
        let failed = |error: std::io::Error| Failure::file(path, "cannot be read", &error);
        // a pipe without a writer would block the open
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            let text =
                format!("{}: is not an ordinary file, so it cannot be mapped: save its content to one", path.display());
            return Err(Failure::new(Exit::Files, text));
        }
        let npy = match npy::read(&file, metadata.len()).map_err(failed)? {
            Some(header) => Some(header.map_err(|text| Failure::new(Exit::Data, text).about(path.display()))?),
            None if has_npy_name(path) => {
                let text = format!("{}: is not a .npy file, though its name ends so", path.display());
                return Err(Failure::new(Exit::Data, text));
            }
            None => None,
        };
        Ok(InputFile { path: path.to_owned(), file, length: metadata.len(), npy })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Type, shape and place of the tensor for a slot as the context has it now; the file has all its bytes.
    pub fn place(&self, slot: &SlotInfo) -> Result<Placed> {
        let placed = match &self.npy {
            Some(header) => self.place_array(header, slot)?,
            None => self.place_bytes(slot)?,
        };
        Ok(placed)
    }

    fn place_array(&self, header: &Header, slot: &SlotInfo) -> Result<Placed> {
        let dtype = npy::dtype_for(&header.descr, slot.desc.dtype).map_err(|text| Failure::new(Exit::Data, text))?;
        let desc = Desc { dtype, dims: header.dims.clone() };
        let (size, there) = (desc.size()? as u64, self.length - header.offset);
        if size > there {
            let text = format!(
                "the .npy file is cut short: {desc} takes {}, and {} follow its header",
                text::bytes(size),
                text::bytes(there)
            );
            return Err(Failure::new(Exit::Data, text));
        }
        Ok(Placed { desc, offset: header.offset })
    }

    fn place_bytes(&self, slot: &SlotInfo) -> Result<Placed> {
        let desc = slot.desc.clone();
        if !desc.is_known() {
            let text = format!(
                "bare bytes do not tell their shape, and the slot's is {}: give it by --shape {}=..., or a .npy file",
                text::shape(&desc, &slot.dim_names),
                slot.name
            );
            return Err(Failure::new(Exit::Data, text));
        }
        let size = desc.size()? as u64;
        if size != self.length {
            let text = format!(
                "the file has {}, but {desc} takes {}: a file that is not .npy has the tensor's bytes and nothing else",
                text::bytes(self.length),
                text::bytes(size)
            );
            return Err(Failure::new(Exit::Data, text));
        }
        Ok(Placed { desc, offset: 0 })
    }

    /// The bytes as memory that is only read.
    pub fn map(&self, placed: &Placed) -> Result<Tensor> {
        Ok(Tensor::map(&placed.desc, self.file.as_fd(), placed.offset, true)?)
    }

    /// Copies the bytes.
    pub fn read_into(&self, placed: &Placed, memory: &mut [u8]) -> Result<()> {
        let failed = |error| Failure::file(&self.path, "cannot be read", &error);
        self.file.read_exact_at(memory, placed.offset).map_err(failed)
    }
}

/// Whether a file is .npy by its name.
pub fn has_npy_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}
