// Holds index.d.ts of the client to the contract of v3: the same fields, optional where the contract says so, of the same
// kind, and unions with the same members.
import ts from 'typescript';

/** Gives every difference between the types of a compiled program and a contract. */
export function compareTypes(program, typesFile, contract) {
  const checker = program.getTypeChecker();
  const exported = new Map(checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(typesFile))).map((symbol) => [symbol.name, symbol]));
  const problems = [];

  const deref = (schema) => {
    let all = schema;
    while (all?.$ref) all = { ...contract.components.schemas[all.$ref.split('/').pop()], ...Object.fromEntries(Object.entries(all).filter(([key]) => key !== '$ref')) };
    // What a member of a union adds is optional beside the union.
    if (all?.oneOf) all = { ...all, properties: Object.assign({}, ...all.oneOf.map((member) => deref(member).properties), all.properties) };
    return all;
  };
  const strip = (type) => (type.isUnion() ? type.types.filter((part) => !(part.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null))) : [type]);
  /** The names that a schema knows, however it says that others may come. */
  const membersOf = (schema) => schema['x-extensible-enum'] ?? schema.enum ?? schema.anyOf?.map(deref).find((part) => part.enum)?.enum;
  const kindOf = (schema) => [schema.type].flat().find((kind) => kind && kind !== 'null') ?? (schema.anyOf ? kindOf(deref(schema.anyOf[0])) : schema.enum ? typeof schema.enum[0] : undefined);

  function compare(path, type, given) {
    const schema = deref(given);
    const parts = strip(type);
    const nullable = [schema.type].flat().includes('null');
    if (nullable !== (type.isUnion() && type.types.some((part) => part.flags & ts.TypeFlags.Null))) problems.push(`${path}: null in one of them only`);
    const flag = { string: ts.TypeFlags.StringLike, integer: ts.TypeFlags.NumberLike, number: ts.TypeFlags.NumberLike, boolean: ts.TypeFlags.BooleanLike }[kindOf(schema)];
    if (flag) {
      if (!parts.every((part) => part.flags & (flag | ts.TypeFlags.TemplateLiteral))) problems.push(`${path}: ${checker.typeToString(type)} is no ${kindOf(schema)}`);
      const literals = parts.filter((part) => part.isLiteral()).map((part) => part.value);
      const members = membersOf(schema);
      if (literals.length && members && [...literals].sort().join() !== [...members].sort().join()) problems.push(`${path}: has ${literals}, and the contract ${members}`);
      if (literals.length && !members) problems.push(`${path}: has ${literals}, and the contract any`);
    } else if (kindOf(schema) === 'array') {
      if (!checker.isArrayType(parts[0])) problems.push(`${path}: is no array`);
      else compare(`${path}[]`, checker.getTypeArguments(parts[0])[0], schema.items);
    } else if (schema.additionalProperties) {
      if (!parts[0].getStringIndexType()) problems.push(`${path}: is no map`);
    } else if (parts.length > 1) compareUnion(path, parts, schema);
    else compareObject(path, parts[0], schema);
  }

  /** A union of objects has the fields of all its members. What the contract has as optional, one of them may demand. */
  function compareUnion(path, types, schema) {
    if (schema.oneOf) compareMembers(path, types, schema);
    const names = new Set(types.flatMap((type) => checker.getPropertiesOfType(type).map(({ name }) => name)));
    for (const name of names) if (!(name in schema.properties)) problems.push(`${path}.${name}: the contract lacks it`);
    for (const [name, property] of Object.entries(schema.properties)) {
      const fields = types.map((type) => type.getProperty(name)).filter(Boolean);
      if (!fields.length) problems.push(`${path}.${name}: the types lack it`);
      const demanded = fields.length === types.length && fields.every((field) => !(field.flags & ts.SymbolFlags.Optional));
      if (demanded && !(schema.required ?? []).includes(name)) problems.push(`${path}.${name}: is optional in the contract`);
      const members = membersOf(deref(property));
      const literals = fields.flatMap((field) => strip(checker.getTypeOfSymbol(field))).filter((part) => part.isLiteral()).map((part) => part.value);
      if (!members || !literals.length) for (const field of fields) compare(`${path}.${name}`, checker.getTypeOfSymbol(field), property);
      else {
        if ([...new Set(literals)].sort().join() !== [...members].sort().join()) problems.push(`${path}.${name}: has ${literals}, and the contract ${members}`);
      }
    }
  }

  /** What a member of the contract's union demands, the member of the types with its values demands too, and nothing else. */
  function compareMembers(path, types, schema) {
    const by = schema.discriminator.propertyName;
    for (const type of types) {
      const values = strip(checker.getTypeOfSymbol(type.getProperty(by))).map((part) => part.value);
      const member = schema.oneOf.map(deref).find(({ properties }) => values.every((value) => properties[by].enum.includes(value)));
      if (!member) {
        problems.push(`${path}: ${values} is in several members of the contract`);
        continue;
      }
      const demanded = checker.getPropertiesOfType(type).filter(({ flags }) => !(flags & ts.SymbolFlags.Optional)).map(({ name }) => name);
      for (const name of member.required) if (!demanded.includes(name)) problems.push(`${path}.${name}: is required in the contract when ${by} is ${values}`);
      for (const name of demanded) if (![...schema.required, ...member.required].includes(name)) problems.push(`${path}.${name}: is optional in the contract when ${by} is ${values}`);
    }
  }

  function compareObject(path, type, schema) {
    const fields = new Map(checker.getPropertiesOfType(type).map((symbol) => [symbol.name, symbol]));
    const required = schema.required ?? [];
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const field = fields.get(name);
      if (!field) {
        problems.push(`${path}.${name}: the types lack it`);
        continue;
      }
      const optional = Boolean(field.flags & ts.SymbolFlags.Optional);
      // What a gateway of this release always sends, an earlier one of the same version may not: optional is right in both.
      if (!optional && !required.includes(name)) problems.push(`${path}.${name}: is optional in the contract`);
      compare(`${path}.${name}`, checker.getTypeOfSymbol(field), property);
    }
    for (const name of fields.keys()) if (!(name in (schema.properties ?? {}))) problems.push(`${path}.${name}: the contract lacks it`);
  }

  const { schemas } = contract.components;
  for (const name of ['Token', 'Quote', 'Details', 'Fee', 'Approval', 'Check', 'Pairs', 'Settlement', 'Routers', 'Status', 'Swap', 'IssuerView', 'Payout']) {
    compare(name, checker.getDeclaredTypeOfSymbol(exported.get(name)), schemas[name]);
  }
  for (const [mine, theirs] of [['SwapState', schemas.SwapState], ['RouteType', schemas.Quote.properties.route.properties.type]]) compare(mine, checker.getDeclaredTypeOfSymbol(exported.get(mine)), theirs);

  // Error codes: those of the contract, and those that the client itself gives.
  const OWN = ['UNVERIFIED', 'OUTDATED', 'UNREACHABLE', 'UNREADABLE'];
  const codes = strip(checker.getDeclaredTypeOfSymbol(exported.get('ErrorCode'))).map((part) => part.value);
  const listed = membersOf(deref(schemas.ErrorCode));
  for (const code of listed) if (!codes.includes(code)) problems.push(`ErrorCode: the types lack ${code}`);
  for (const code of codes) if (!listed.includes(code) && !OWN.includes(code)) problems.push(`ErrorCode: the contract lacks ${code}`);
  const error = new Set(Object.keys(schemas.Error.properties));
  for (const part of strip(checker.getDeclaredTypeOfSymbol(exported.get('QuoteError')))) {
    const name = checker.typeToString(checker.getTypeOfSymbol(part.getProperty('code')));
    for (const { name: field } of checker.getPropertiesOfType(part)) {
      const ours = ['name', 'message', 'stack', 'cause', 'status', 'retryAfter', 'problems', 'checked', 'quote', 'result', 'needs'];
      if (!error.has(field) && !ours.includes(field)) problems.push(`QuoteError ${name}.${field}: the contract lacks it`);
    }
  }
  for (const parameter of contract.paths['/v3/swap/quote'].get.parameters.map((p) => contract.components.parameters[p.$ref.split('/').pop()])) {
    if (parameter.in !== 'query' || parameter.name === 'include') continue;
    const field = checker.getDeclaredTypeOfSymbol(exported.get('Request')).getProperty(parameter.name);
    if (!field) problems.push(`Request: the types lack ${parameter.name}`);
    else if (Boolean(field.flags & ts.SymbolFlags.Optional) === Boolean(parameter.required)) problems.push(`Request.${parameter.name}: optional in one of them only`);
  }
  return problems;
}
