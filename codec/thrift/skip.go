package thrift

// skip passes over a value that is no field of type bool in the compact
// protocol: that has none.
func (d *decoder) skip(t wireType) error {
	if n := t.fixed(d.compact); n > 0 {
		_, err := d.take(n)
		return err
	}
	switch t {
	case typeI16, typeI32, typeI64: // compact
		_, err := d.uvarint()
		return err
	case typeString:
		_, err := d.bytes()
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	var err error
	switch t {
	case typeStruct:
		err = d.skipStruct()
	case typeMap:
		key, value, n, headerErr := d.mapHeader()
		err = headerErr
		for range n {
			if err == nil {
				err = d.skip(key)
			}
			if err == nil {
				err = d.skip(value)
			}
			if err != nil {
				break
			}
		}
	default: // a list or a set
		err = d.skipList()
	}
	d.depth--
	return err
}

func (d *decoder) skipStruct() error {
	for last := int16(0); ; {
		t, id, _, err := d.fieldHeader(last)
		if err != nil || t == typeStop {
			return err
		}
		if err := d.skipField(t); err != nil {
			return err
		}
		last = id
	}
}

// skipField passes over the value of a field.
func (d *decoder) skipField(t wireType) error {
	if t == typeBool && d.compact {
		return nil // it was in the header
	}
	return d.skip(t)
}

func (d *decoder) skipList() error {
	elem, n, err := d.listHeader()
	if err != nil || n == 0 {
		return err
	}
	if size := elem.fixed(d.compact); size > 0 {
		_, err := d.take(n * size) // the count is checked against what is there
		return err
	}
	for range n {
		if err := d.skip(elem); err != nil {
			return err
		}
	}
	return nil
}
