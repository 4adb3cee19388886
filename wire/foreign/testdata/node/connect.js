'use strict'
// What the scripts for Connect share. The service has no generated code: its
// descriptors come as an argument.

const { createFileRegistry, fromBinary } = require('@bufbuild/protobuf')
const { FileDescriptorSetSchema } = require('@bufbuild/protobuf/wkt')

/** Returns the description of the service test.Notes. */
exports.notes = (descriptors) => {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptors, 'base64'))
  return createFileRegistry(set).getService('test.Notes')
}
