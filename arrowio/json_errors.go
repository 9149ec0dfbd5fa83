package arrowio

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/go-json-experiment/json/jsontext"
)

// errorAt is an error about the record at pos.
func (p *jsonParser) errorAt(pos int, what string) error {
	return inputErrorf("%s line %d: %s", p.b.header.file, p.b.lineAt(pos), what)
}

// cellError is an error about the value at pos.
func (p *jsonParser) cellError(column string, pos int, what string) error {
	return inputErrorf("%s line %d, column %q: %s", p.b.header.file, p.b.lineAt(pos), column, what)
}

// incomplete is the error of a line that ends before its record does.
func (p *jsonParser) incomplete(pos int) error {
	return inputErrorf("%s: incomplete record at line %d: each record must be whole, on one line; is the file cut off?", p.b.header.file, p.b.lineAt(pos))
}

// noObject is the error of a line that does not begin with a brace.
func (p *jsonParser) noObject(pos int) error {
	if p.b.buf[pos] == '[' {
		return p.errorAt(pos, "a list begins here, and one object a line is expected; where the file is one list, turn it into lines, as by: jq -c '.[]'")
	}
	return p.errorAt(pos, "one object a line is expected, and there is "+p.shownAt(pos))
}

// nestedError words an error of reading the object or list at pos.
func (p *jsonParser) nestedError(column string, pos int, err error) error {
	var cell *cellProblem
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &cell):
		return p.cellError(cell.path, pos, cell.what)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return p.incomplete(pos)
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return p.cellError(column, pos, fmt.Sprintf("the key %s occurs twice in an object", strconv.Quote(syntax.JSONPointer.LastToken())))
	case errors.As(err, &syntax):
		return p.cellError(column, pos, fmt.Sprintf("%s: this is no JSON: %v", p.shownAt(pos), syntax.Err))
	}
	return p.cellError(column, pos, err.Error())
}

// cellProblem is what is wrong with a value inside an object or a list.
type cellProblem struct{ path, what string }

func (e *cellProblem) Error() string { return e.path + ": " + e.what }

// misfit says that a value is not of type typ.
func misfit(t token, typ arrow.DataType, why error) string {
	s := shownToken(t) + " is not " + jsonTypeName(typ)
	if errors.Is(why, errForm) {
		return s
	}
	return s + ": " + why.Error()
}

// refuses says, as the rest of a sentence, why a value of some form is never
// one of type typ; it is empty where it may be.
//
// A type that JSON has is read from that form alone: a string of digits is no
// number, and a number is no text. What JSON has no form for is written as
// text, and decimals either way.
func refuses(typ arrow.DataType, k kind, form jsonForm) string {
	var how string
	ok := false
	switch k {
	case kindBool:
		ok, how = form == jsonBool, "true or false, without quotes"
	case kindInt32, kindInt64, kindFloat32, kindFloat64:
		ok, how = form == jsonNumber, "without quotes"
	case kindDecimal:
		ok, how = form == jsonNumber || form == jsonString, "as a number or in quotes"
	default:
		ok, how = form == jsonString, "in quotes"
	}
	switch typ.ID() {
	case arrow.STRUCT, arrow.MAP:
		ok, how = false, "in braces"
	case arrow.LIST:
		ok, how = false, "in brackets"
	}
	if ok {
		return ""
	}
	return fmt.Sprintf(" is %s, and the column takes %s, written %s", form, jsonTypeName(typ), how)
}

// jsonTypeName names a type in Iceberg's words, with an article.
func jsonTypeName(t arrow.DataType) string {
	switch t.(type) {
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return "binary in hexadecimal digits"
	case *arrow.FixedSizeBinaryType:
		return icebergWord(t) + " in hexadecimal digits"
	case *arrow.StructType:
		return "a struct"
	case *arrow.ListType:
		return "a list"
	case *arrow.MapType:
		return "a map"
	}
	return typeName(t)
}
