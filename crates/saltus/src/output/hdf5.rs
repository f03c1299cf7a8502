//! `trajectory.h5`: one HDF5 dataset of float64 per column, with the attribute `unit`; the attributes of the root
//! say model, scheme and step.
//!
//! A trajectory of one block is written as contiguous datasets. A longer one starts with its first
//! block in chunked datasets without limit, and each column is then appended to, a block at a time: memory is that of
//! two blocks, whatever the number of rows.

use crate::output::spool::Spool;
use crate::output::{Header, OutputError};
use hdf5_pure::{AttrValue, File, FileAccessProperties, FileBuilder, MaxExtent, SyncPolicy};
use std::path::Path;

/// Writes the columns of `spool` to the file `path`.
pub(crate) fn write(path: &Path, header: &Header, spool: &mut Spool) -> Result<(), OutputError> {
    let encode = |e: hdf5_pure::Error| OutputError::encode(path, e);
    let one_block = spool.len() <= spool.block_rows();
    first_block(header, spool, one_block)?
        .write(path)
        .map_err(encode)?;
    if one_block {
        return Ok(());
    }
    let access = FileAccessProperties::new().with_sync_policy(SyncPolicy::OnClose);
    let file = File::open_rw_with_options(path, access).map_err(encode)?;
    for (index, column) in header.columns.iter().enumerate() {
        let mut dataset = file.dataset(column.name()).map_err(encode)?;
        let mut first = true;
        spool.column(index, |bytes| {
            if std::mem::take(&mut first) {
                return Ok(()); // already there
            }
            dataset.append_raw(bytes).map_err(encode)
        })?;
    }
    file.close().map_err(encode)
}

/// The file with its attributes and the first block of every column.
fn first_block(
    header: &Header,
    spool: &mut Spool,
    one_block: bool,
) -> Result<FileBuilder, OutputError> {
    let mut builder = FileBuilder::new();
    let text = |value: &str| AttrValue::VarLenString(value.to_owned());
    builder.set_attr("model", text(&header.model));
    builder.set_attr("scheme", text(&header.scheme));
    builder.set_attr("step", AttrValue::F64(header.step));
    builder.set_attr(
        "creator",
        text(concat!("saltus ", env!("CARGO_PKG_VERSION"))),
    );
    for (index, column) in header.columns.iter().enumerate() {
        let mut values: Vec<f64> = Vec::new();
        spool.first_block(index, &mut values)?;
        let dataset = builder.create_dataset(column.name());
        dataset
            .with_f64_data(&values)
            .with_shape(&[values.len() as u64]);
        dataset.set_attr("unit", text(column.unit()));
        if !one_block {
            dataset
                .with_maxshape(&[MaxExtent::Unlimited])
                .with_chunks(&[values.len() as u64]);
        }
    }
    Ok(builder)
}
