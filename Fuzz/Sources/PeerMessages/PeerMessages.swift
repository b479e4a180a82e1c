import HearthFuzzing

@c(LLVMFuzzerTestOneInput)
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    fuzzPeerMessages(UnsafeRawBufferPointer(start: start, count: count))
    return 0
}
